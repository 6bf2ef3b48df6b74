import { expect, it } from 'vitest'
import { toSeed } from '../../inbox/crash/random.ts'
import { type Figures, type History, runHistory } from './deliveries.ts'

const first = toSeed(process.env.HISTORY_SEED)

async function runHistories(count: number, options: Omit<History, 'seed'>): Promise<void> {
  const total: Figures = { deliveries: 0, lost: 0, compared: 0, late: 0, copies: 0, wrong: [] }
  for (let seed = first; seed < first + count; seed++) {
    const { wrong, ...figures } = await runHistory({ ...options, seed })
    for (const [name, figure] of Object.entries(figures) as [keyof typeof figures, number][])
      total[name] += figure
    total.wrong.push(...wrong.map((text) => `HISTORY_SEED=${seed}: ${text}`))
  }
  const { wrong, ...figures } = total
  console.log(
    `${count} histories, HISTORY_SEED=${first}, ${JSON.stringify({ ...options, ...figures, wrong: wrong.length })}`,
  )
  expect(wrong).toEqual([])
}

for (const work of ['one', 'coalesce', 'four'] as const) {
  it(`40 histories of a service whose deleted features return are exact: ${work}`, () =>
    runHistories(Number(process.env.HISTORIES ?? 40), { lost: 0, work }))

  it(`120 histories with 30 % lost deliveries are exact: ${work}`, () =>
    runHistories(Number(process.env.HISTORIES ?? 120), { lost: 0.3, work }))
}
