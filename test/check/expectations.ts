import { type CheckOptions, type CheckReport, type CheckVerdict, checkReceiver } from 'geohook/check'
import { expect } from 'vitest'
import { KEY } from '../helpers/deliver.ts'

/** What a check of a flawed receiver finds. */
export interface Finds {
  /** Ids of all scenarios of the levels `must` and `should` that fail. The first one is the scenario for this flaw. */
  fails: readonly [string, ...string[]]
  /** Ids of scenarios that fail or pass, depending on the speed of the machine. */
  mayFail?: readonly string[]
  hasSideEffects?: true
}

/** The scenarios that measure times. */
export const TIMES: readonly string[] = ['uniform-refusal-time', 'unknown-tenant-time']

/**
 * Runs all scenarios without side effects, except those that measure times: other tests run at the same time.
 *
 * @param options override these settings
 */
export const checkUrl = (url: string, options: Partial<CheckOptions> = {}): Promise<CheckReport> =>
  checkReceiver({
    url,
    signatureKey: KEY,
    timeout: 20_000, // tests must pass on a busy machine, too
    strict: true,
    skip: TIMES,
    ...options,
  })

/** Returns `id: evidence` of the results with a verdict that matter for the conclusion. */
const linesOf = ({ results }: CheckReport, verdict: CheckVerdict): string[] =>
  results
    .filter((result) => result.verdict === verdict && result.level !== 'may')
    .map(({ id, evidence }) => `${id}: ${evidence}`)

/** Expects that no `must` and no `should` failed or is undecided. */
export function expectConforms(report: CheckReport): void {
  expect(linesOf(report, 'failed')).toEqual([])
  expect(linesOf(report, 'undecided')).toEqual([])
  expect(report.conclusion).toBe('conforms')
}

/** Expects that exactly these scenarios failed. */
export function expectFinds(report: CheckReport, { fails, mayFail = [] }: Finds): void {
  const found = linesOf(report, 'failed')
  const ids = found.map((line) => line.split(':')[0] ?? '').filter((id) => !mayFail.includes(id))
  expect(ids.sort(), found.join('\n')).toEqual([...fails].sort())
  expect(report.conclusion).toBe('fails')
}
