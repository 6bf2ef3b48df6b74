import { createChanges } from 'geohook/changes'
import { expect, it } from 'vitest'
import { DOCUMENT, startHostile } from './contract/hostile-server.ts'
import { toEvent } from './support.ts'

const URL = 'extractChanges?serverGens=[1,2]'

async function extract(queries: string[]) {
  const server = await startHostile({ extractChanges: DOCUMENT })
  const changes = createChanges({ origins: [server.origin] })
  const events = queries.map((query) => toEvent(`${server.url}/${URL}${query}`))
  const began = performance.now()
  const { layers } = await changes.of(events)
  expect(layers).toHaveLength(1)
  return { milliseconds: performance.now() - began, sent: server.got[0]?.all ?? '' }
}

it.each([
  ['the same long URL', (count: number) => Array<string>(count).fill('&returnX=1'.repeat(500))],
  [
    'different URLs with different parameters',
    (count: number) => Array.from({ length: count }, (_, n) => `&return${n}=1`),
  ],
])('reads many events with %s in linear time', async (_, queriesOf) => {
  const [few, many] = [[] as number[], [] as number[]]
  const ratio = () => Math.min(...many) / Math.min(...few)
  for (let run = 0; run < 3 || (run < 20 && ratio() >= 40); run++) {
    few.push((await extract(queriesOf(2_000))).milliseconds)
    many.push((await extract(queriesOf(20_000))).milliseconds)
  }
  // Ten times as many events take 10 times as long in linear time, and 100 times as long in quadratic time. The fastest
  // runs are those that other work on the machine has disturbed least.
  expect(ratio(), `${few} ms, ${many} ms`).toBeLessThan(40)
})

it('does not filter the features of one event by the layerQueries of another', async () => {
  const query = `&layerQueries=${encodeURIComponent('{"0":{"where":"a=1"}}')}`
  const other = query.replace('1', '2')
  expect((await extract([query, query])).sent).toContain('layerQueries')
  for (const queries of [
    ['', query],
    [query, other],
  ])
    expect((await extract(queries)).sent).not.toContain('layerQueries')
})
