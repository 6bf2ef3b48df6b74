import { expect, it } from 'vitest'
import { changesOf, start } from './support.ts'

it('compares many changes in one attempt in linear time', async () => {
  const { handleAll } = start()
  const changes = (round: number) =>
    changesOf({
      updates: Array.from({ length: 200 }, (_, id) => ({ attributes: { OBJECTID: id, round } })),
    })
  const measure = async (rounds: number): Promise<number> => {
    const begin = performance.now()
    const compared = await handleAll(...Array.from({ length: rounds }, (_, round) => changes(round)))
    const [last] = compared.at(-1) ?? []
    expect(last?.before?.attributes.round).toBe(rounds - 2)
    return performance.now() - begin
  }
  await measure(10)
  const [few, many] = [[] as number[], [] as number[]]
  for (let run = 0; run < 3; run++) {
    few.push(await measure(20))
    many.push(await measure(200))
  }
  expect(Math.min(...many) / Math.min(...few), `${few} ms, ${many} ms`).toBeLessThan(40)
})
