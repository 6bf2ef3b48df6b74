import type { FaultSeed } from 'geohook/mock'
import { expect } from 'vitest'
import { FAST, type Service, startService, TOKEN } from '../support.ts'
import type { Case } from './case.ts'
import type { Start, Use, Used } from './subject.ts'

type Options = Parameters<typeof startService>[0]
type Outcome = 'changes' | Partial<NonNullable<Used['error']>>

/** The outcome of each fault that occurs once. */
const ONCE: [seed: Omit<FaultSeed, 'times'>, outcome: Outcome, options?: Options][] = [
  [{ fault: 'job_failed' }, { code: 'changes_failed', state: 'Failed', serviceCode: 500 }],
  [{ fault: 'completed_with_errors' }, { code: 'changes_failed', state: 'CompletedWithErrors' }],
  [{ fault: 'completed_without_url' }, 'changes'],
  [{ fault: 'unknown_status' }, 'changes'],
  [{ fault: 'never_done' }, { code: 'changes_timeout', state: 'ExportAttachments' }],
  [{ fault: 'result_gone' }, 'changes'],
  [{ fault: 'token_expired', step: 'submit' }, 'changes'],
  [{ fault: 'token_expired', step: 'poll' }, 'changes'],
  [{ fault: 'token_expired', step: 'result' }, 'changes'],
  [{ fault: 'html_answer', step: 'submit' }, { code: 'changes_malformed' }],
  [{ fault: 'html_answer', step: 'poll' }, { code: 'changes_malformed' }],
  [{ fault: 'html_answer', step: 'result' }, { code: 'changes_malformed' }],
  [{ fault: 'error_with_200', step: 'submit' }, 'changes'],
  [{ fault: 'error_with_200', step: 'poll' }, 'changes'],
  [{ fault: 'error_with_200', step: 'result' }, 'changes'],
  [{ fault: 'window_purged' }, { code: 'changes_failed', serviceCode: 400 }],
  [{ fault: 'redirect_elsewhere' }, 'changes'],
  [{ fault: 'cut_result' }, 'changes'],
  [{ fault: 'cut_result' }, 'changes', { extractChanges: { answer: 'embedded' } }],
  [{ fault: 'cut_result' }, 'changes', { extractChanges: { redirect: true } }],
  [{ fault: 'result_gone' }, 'changes', { extractChanges: { redirect: true } }],
]

/** The outcome of faults that do not end. */
const ALWAYS: [seed: FaultSeed, outcome: Outcome, options?: Options][] = [
  [{ fault: 'result_gone' }, { code: 'changes_failed', serviceCode: 404 }],
  [{ fault: 'redirect_elsewhere' }, { code: 'changes_failed', serviceCode: 403 }],
  [{ fault: 'cut_result' }, { code: 'changes_unavailable' }],
  [{ fault: 'cut_result' }, { code: 'changes_unavailable' }, { extractChanges: { answer: 'embedded' } }],
  [
    { fault: 'token_expired', step: 'submit' },
    { code: 'changes_token_rejected', serviceCode: 498 },
  ],
  [
    { fault: 'token_expired', step: 'poll' },
    { code: 'changes_token_rejected', serviceCode: 498 },
  ],
  [
    { fault: 'token_expired', step: 'result' },
    { code: 'changes_token_rejected', serviceCode: 498 },
  ],
  [
    { fault: 'error_with_200', step: 'submit' },
    { code: 'changes_unavailable', serviceCode: 500 },
  ],
  [
    { fault: 'error_with_200', step: 'result' },
    { code: 'changes_unavailable', serviceCode: 500 },
  ],
  [{ fault: 'completed_without_url' }, { code: 'changes_timeout', state: 'Completed' }],
  [{ fault: 'unknown_status' }, { code: 'changes_timeout', state: 'Reconciling' }],
]

/** Names of the faults in the table of faults that occur once. */
export const COVERED: readonly string[] = [...new Set(ONCE.map(([{ fault }]) => fault)), 'ids_only_empty']

export const extractFrom = (service: Service, use: Start, more: Partial<Use> = {}): Promise<Used> =>
  use({
    options: { origins: [service.origin], pollInterval: FAST, timeout: 5000 },
    tokens: [TOKEN, 't2-next-token'],
    events: [service.event()],
    ...more,
  })

const isTimeout = (outcome: Outcome): boolean =>
  typeof outcome === 'object' && outcome.code === 'changes_timeout'

function check({ changes, error, tokens }: Used, outcome: Outcome, expectedTokens: number): void {
  if (outcome === 'changes') {
    expect(error).toBeUndefined()
    expect(changes?.layers[0]?.adds.map(({ attributes }) => attributes.name)).toEqual(['one', 'two'])
  } else {
    expect(error).toMatchObject({ name: 'ChangesError', hint: expect.stringMatching(/\w/), ...outcome })
    for (const secret of [TOKEN, 't2-next-token']) expect(JSON.stringify(error)).not.toContain(secret)
  }
  expect(tokens).toBe(expectedTokens)
}

async function run(
  use: Start,
  seed: FaultSeed,
  outcome: Outcome,
  { options, tokens }: { options: Options; tokens: number },
): Promise<Service> {
  const service = await startService(options)
  service.service.faults.add(seed)
  const timeout = isTimeout(outcome) ? 2000 : 30_000
  const used = await extractFrom(service, use, {
    options: { origins: [service.origin], pollInterval: FAST, timeout },
  })
  check(used, outcome, tokens)
  return service
}

export const FAULT_CASES: readonly Case[] = [
  ...ONCE.map(([seed, outcome, options]) => ({
    name: `${JSON.stringify({ ...seed, ...options?.extractChanges })} once: ${JSON.stringify(outcome)}`,
    async run(use: Start) {
      const tokens = seed.fault === 'token_expired' ? 2 : 1
      const { service } = await run(use, { ...seed, times: 1 }, outcome, { options, tokens })
      expect(service.faults.list()).toEqual([])
    },
  })),
  ...ALWAYS.map(([seed, outcome, options]) => ({
    name: `${JSON.stringify({ ...seed, ...options?.extractChanges })} always: ${JSON.stringify(outcome)}`,
    async run(use: Start) {
      await run(use, seed, outcome, { options, tokens: seed.fault === 'token_expired' ? 2 : 1 })
    },
  })),
  {
    name: 'ids_only_empty does not occur, because ids alone are never asked for',
    async run(use) {
      const service = await startService()
      service.service.faults.add({ fault: 'ids_only_empty', times: 1 })
      const events = [
        service.event('serverGens=[1700000000000,1800000000000]&returnIdsOnly=true&returnExtentOnly=true'),
      ]
      check(await extractFrom(service, use, { events }), 'changes', 1)
      expect(service.service.faults.list()).toHaveLength(1)
    },
  },
  {
    name: 'resync_required if the service no longer has the changes of the window',
    async run(use) {
      const service = await startService()
      const url = service.url.replace('/rest/', '/rest/admin/')
      const body = new URLSearchParams({
        f: 'json',
        token: 'edit',
        layers: '0',
        minServerGen: String(await generationOf(service)),
      })
      const cleaned = await fetch(`${url}/cleanupChangeTracking`, { method: 'POST', body })
      expect(await cleaned.json()).not.toHaveProperty('error')
      check(await extractFrom(service, use), { code: 'resync_required' }, 1)
    },
  },
]

async function generationOf(service: Service): Promise<number> {
  const { changeTrackingInfo } = await service.post('', { returnUpdates: 'true' })
  return changeTrackingInfo.layerServerGens[0].serverGen
}
