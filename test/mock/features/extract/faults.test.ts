import type { ExtractionFaultName, FaultSeed } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { EXTRACTION_FAULTS } from '../../../../src/mock/faults/faults.ts'
import { createReader, type Document, type ReaderOptions } from './reader.ts'
import { type Parcels, START, startParcels } from './support.ts'

/** What a correct reader makes of each fault that occurs once: an error code, or the changes after all. */
const OUTCOMES: [seed: Omit<FaultSeed, 'times'>, outcome: string, more?: Record<string, string>][] = [
  [{ fault: 'job_failed' }, 'Failed'],
  [{ fault: 'completed_with_errors' }, 'CompletedWithErrors'],
  [{ fault: 'completed_without_url' }, 'changes'],
  [{ fault: 'unknown_status' }, 'changes'],
  [{ fault: 'never_done' }, 'timeout'],
  [{ fault: 'result_gone' }, '404'],
  [{ fault: 'token_expired', step: 'submit' }, 'changes'],
  [{ fault: 'token_expired', step: 'poll' }, 'changes'],
  [{ fault: 'token_expired', step: 'result' }, 'changes'],
  [{ fault: 'html_answer', step: 'submit' }, 'not_json'],
  [{ fault: 'html_answer', step: 'poll' }, 'not_json'],
  [{ fault: 'html_answer', step: 'result' }, 'not_json'],
  [{ fault: 'error_with_200', step: 'submit' }, '500'],
  [{ fault: 'error_with_200', step: 'poll' }, '500'],
  [{ fault: 'error_with_200', step: 'result' }, '500'],
  [{ fault: 'window_purged' }, '400'],
  [{ fault: 'ids_only_empty' }, 'none', { returnIdsOnly: 'true', async: 'true' }],
  [{ fault: 'redirect_elsewhere' }, '403'],
  [{ fault: 'cut_result' }, 'cut'],
  [{ fault: 'cut_result' }, 'cut', { async: 'false' }],
]

/** Starts a mock with one feature. */
async function start(redirect = false): Promise<Parcels> {
  const parcels = await startParcels({
    extractChanges: { redirect },
    auth: {
      authenticate: (token) => (token.startsWith('t') ? { username: 'a', privileges: [] } : undefined),
    },
  })
  await parcels.post('/0/addFeatures', { token: 't0', features: [{ attributes: { name: 'one' } }] })
  return parcels
}

/** Extracts everything. @returns the outcome, and the reader's states and tokens */
async function read(parcels: Parcels, fields: Record<string, string> = {}, options: ReaderOptions = {}) {
  let tokens = 0
  const reader = createReader({ token: async () => `t${++tokens}`, ...options })
  const outcome = await reader
    .extract(`${parcels.url}/extractChanges`, { serverGens: String(START), ...fields })
    .then(found, ({ code }) => (code === undefined ? 'cut' : String(code)))
  return { outcome, tokens, ...reader.trace }
}

function found({ edits: [layer] = [] }: Document): string {
  const adds = layer?.features?.adds ?? layer?.objectIds?.adds ?? []
  return adds.length > 0 ? 'changes' : 'none'
}

describe('faults of change extractions', () => {
  it.each(OUTCOMES)('%j occurs once, and a reader gets: %s', async (seed, outcome, fields) => {
    const parcels = await start()
    parcels.service.faults.add({ ...seed, times: 1 })
    const first = await read(parcels, fields)
    expect(first.outcome).toBe(outcome)
    expect(first.tokens).toBe(seed.fault === 'token_expired' ? 2 : 1)
    expect(parcels.service.faults.list()).toEqual([])
    expect((await read(parcels, fields)).outcome).toBe('changes')
  })

  it('the table above has every fault', () => {
    expect([...new Set(OUTCOMES.map(([{ fault }]) => fault))].sort()).toEqual(
      Object.keys(EXTRACTION_FAULTS).sort(),
    )
  })

  it('completed_without_url and unknown_status occur at a number of polls', async () => {
    const parcels = await start()
    parcels.service.faults.add({ fault: 'completed_without_url', times: 3 })
    expect((await read(parcels)).states).toEqual([
      'ExportChanges',
      'ExportAttachments',
      ...Array(4).fill('Completed'),
    ])
    parcels.service.faults.add({ fault: 'unknown_status', times: 2 })
    expect((await read(parcels)).states).toEqual(['Reconciling', 'Reconciling', 'Completed'])
  })

  it.each(['job_failed', 'completed_with_errors', 'never_done'] as const)('%s counts jobs', async (fault) => {
    const parcels = await start()
    parcels.service.faults.add({ fault, times: 2 })
    const outcomes = [await read(parcels), await read(parcels), await read(parcels)]
    expect(outcomes.map(({ outcome }) => outcome === 'changes')).toEqual([false, false, true])
  })

  it('faults of jobs do not occur at embedded answers', async () => {
    const parcels = await start()
    for (const fault of ['job_failed', 'completed_with_errors', 'never_done'] as const)
      parcels.service.faults.add({ fault, times: 1 })
    expect((await read(parcels, { async: 'false' })).outcome).toBe('changes')
    expect(parcels.service.faults.list()).toHaveLength(3)
  })

  it('ids_only_empty occurs only with returnIdsOnly', async () => {
    const parcels = await start()
    parcels.service.faults.add({ fault: 'ids_only_empty', times: 1 })
    expect((await read(parcels)).outcome).toBe('changes')
    expect((await read(parcels, { returnIdsOnly: 'true' })).outcome).toBe('none')
  })

  it('requests that fail anyway get no fault', async () => {
    const parcels = await start()
    parcels.service.faults.add({ fault: 'html_answer', times: 1 })
    expect((await read(parcels, { returnInserts: 'x' })).outcome).toBe('400')
    expect((await read(parcels, {}, { token: async () => 'wrong' })).outcome).toBe('498')
    expect(parcels.service.faults.list()).toHaveLength(1)
  })

  it('without a step, token_expired occurs at the next request', async () => {
    const parcels = await start()
    parcels.service.faults.add({ fault: 'token_expired', times: 2 })
    expect((await read(parcels)).outcome).toBe('498')
    expect((await read(parcels)).outcome).toBe('changes')
  })

  it('a file that redirects can be cut, and redirect to a host that does not have it', async () => {
    const parcels = await start(true)
    const { faults } = parcels.service
    for (const [fault, outcome] of [
      ['cut_result', 'cut'],
      ['redirect_elsewhere', '403'],
      ['result_gone', '404'],
    ] satisfies [ExtractionFaultName, string][]) {
      faults.add({ fault, times: 1 })
      expect((await read(parcels)).outcome).toBe(outcome)
      expect(faults.list()).toEqual([])
    }
    expect((await read(parcels)).outcome).toBe('changes')
  })

  it('the token of a reader does not reach the other host', async () => {
    const parcels = await start(true)
    parcels.service.faults.add({ fault: 'redirect_elsewhere', times: 1 })
    // The other host would answer 400 if it saw a token.
    const { outcome, origins } = await read(parcels)
    expect(outcome).toBe('403')
    expect([...origins].map((origin) => new URL(origin).hostname)).toEqual(['127.0.0.1', 'localhost'])
  })
})
