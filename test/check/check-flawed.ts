import { createServer, type RequestListener } from 'node:http'
import { type CheckReport, checkReceiver, type Verdict } from 'geohook/check'
import { expect } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { mountServer } from '../helpers/mounts/mounted.ts'

/** What a check of a flawed receiver finds. */
export interface Finds {
  /** Ids of all scenarios of the levels `must` and `should` that fail. The first one is the scenario for this flaw. */
  fails: readonly [string, ...string[]]
  hasSideEffects?: true
}

/** Counts the handled deliveries with this webhook name. */
export type Count = (name: string) => number

/** Runs all scenarios with a receiver, except that which measures times: other tests run at the same time. */
export const checkUrl = (
  url: string,
  count: Count | undefined,
  { hasSideEffects = false }: Partial<Finds> = {},
): Promise<CheckReport> =>
  checkReceiver({
    url,
    signatureKey: KEY,
    timeout: 2_000,
    strict: true,
    skip: ['uniform-refusal-time'],
    sideEffects: hasSideEffects,
    observer: count && ((id) => count(`geohook check ${id}`)),
  })

/** Returns `id: evidence` of the results with a verdict that matter for the conclusion. */
const linesOf = ({ results }: CheckReport, verdict: Verdict): string[] =>
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
export function expectFinds(report: CheckReport, { fails }: Finds): void {
  const found = linesOf(report, 'failed')
  expect(found.map((line) => line.split(':')[0]).sort(), found.join('\n')).toEqual([...fails].sort())
  expect(report.conclusion).toBe('fails')
}

/** Checks a receiver in this process. `create` gets a function to call with each handled payload. */
export async function checkListener(
  create: (handle: (payload: unknown) => void) => RequestListener,
  finds?: Partial<Finds>,
): Promise<CheckReport> {
  const names: unknown[] = []
  const listener = create((payload) => {
    names.push((payload as { name?: unknown } | null)?.name)
  })
  const { url, close } = await mountServer(createServer(listener))
  try {
    return await checkUrl(url, (name) => names.filter((other) => other === name).length, finds)
  } finally {
    await close()
  }
}
