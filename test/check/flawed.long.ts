import { type CheckReport, checkReceiver } from 'geohook/check'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import type { Flaw } from './flawed/flaw.ts'
import { FLAWS, OPTIONAL } from './flawed/flaws.ts'
import { serveFlawed } from './flawed/serve.ts'
import { idsOf } from './receiver.ts'

/** Milliseconds. These tests run concurrently, and must pass on a busy machine, too. */
const TIMEOUT = 10_000

async function check(flaw?: Flaw): Promise<CheckReport> {
  await using server = await serveFlawed(TIMEOUT, flaw)
  const { url, observer, failHandler } = server
  const sideEffects = flaw === undefined || flaw.hasSideEffects === true
  return await checkReceiver({
    url,
    observer,
    failHandler,
    unknownUrl: `${url}unknown`,
    signatureKey: KEY,
    profile: flaw?.profile,
    timeout: TIMEOUT,
    sideEffects,
    skip: ['uniform-refusal-time', 'unknown-tenant-time'], // measure times, and other tests run at the same time
  })
}

it('finds nothing wrong in a correct receiver written by hand', async () => {
  const report = await check()
  expect(idsOf(report, 'failed')).toEqual(OPTIONAL)
  expect(idsOf(report, 'undecided')).toEqual([])
  expect(report.conclusion).toBe('conforms')
})

it.concurrent.each(Object.entries(FLAWS))('finds only the flaw of a receiver that %s', async (_, flaw) => {
  const { results } = await check(flaw)
  const failed = results.filter(({ verdict, id }) => verdict === 'failed' && !OPTIONAL.includes(id))
  expect(failed.map(({ id }) => id)).toEqual(expect.arrayContaining([...flaw.finds]))
  const others = failed.filter(({ id }) => ![...flaw.finds, ...(flaw.also ?? [])].includes(id))
  if (!flaw.acceptsForgeries) expect(others.map(({ id, evidence }) => `${id}: ${evidence}`)).toEqual([])
})
