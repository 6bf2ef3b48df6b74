import { type CheckReport, checkReceiver } from 'geohook/check'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { FLAWS, type Flaw } from './flawed/flaws.ts'
import { serveFlawed } from './flawed/serve.ts'
import { idsOf } from './receiver.ts'

/** Conveniences that a receiver written by hand does not have. */
const OPTIONAL = ['encoding-base64', 'percent-encoded', 'time-stale', 'time-future']

async function check(flaw?: Flaw): Promise<CheckReport> {
  const { url, observer } = await serveFlawed(flaw)
  const sideEffects = flaw === undefined || flaw.hasSideEffects === true
  return checkReceiver({
    url,
    observer,
    signatureKey: KEY,
    profile: flaw?.profile,
    timeout: 1_000,
    sideEffects,
  })
}

it('finds nothing wrong in a correct receiver written by hand', async () => {
  const report = await check()
  expect(idsOf(report, 'failed')).toEqual(OPTIONAL)
  expect(idsOf(report, 'undecided')).toEqual([])
  expect(report.conclusion).toBe('conforms')
})

it.each(Object.entries(FLAWS))('finds only the flaw of a receiver that %s', async (_, flaw) => {
  const report = await check(flaw)
  const failed = idsOf(report, 'failed').filter((id) => !OPTIONAL.includes(id))
  const expected = [...flaw.finds, ...(flaw.also ?? [])]
  expect(
    failed.sort(),
    JSON.stringify(
      report.results.filter(({ id }) => failed.includes(id) && !expected.includes(id)),
      null,
      1,
    ),
  ).toEqual(expected.sort())
})
