import type { RequestListener } from 'node:http'
import { createReceiver } from 'geohook'
import type { CheckReport } from 'geohook/check'
import { createMemoryDuplicates, createMemoryInbox } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { expect, it, onTestFinished } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { checkListener, resultOf } from './receiver.ts'

/** Checks a receiver whose handler fails when `failHandler` says so, unless `ignores` is true. */
async function checkFailing({
  hasObserver = true,
  ignores = false,
  inbox,
}: {
  hasObserver?: boolean
  ignores?: boolean
  inbox?: ReturnType<typeof createMemoryInbox>
} = {}): Promise<CheckReport['results'][number]> {
  const names: (string | undefined)[] = []
  let failing: string | undefined
  const receiver = createReceiver({ signatureKey: KEY, observer: {}, inbox }).on(
    '*',
    ({ webhook: { name } }) => {
      if (failing !== undefined && name === failing) throw new Error('the handler fails')
      names.push(name)
    },
  )
  inbox?.work(receiver)
  onTestFinished(() => receiver.close())
  const report = await checkListener(webhook(receiver), {
    only: ['handler-failure'],
    sideEffects: true,
    timeout: 5_000,
    observer: hasObserver ? (id) => names.filter((name) => name === `geohook check ${id}`).length : undefined,
    failHandler(id, fails) {
      failing = fails && !ignores ? `geohook check ${id}` : undefined
    },
  })
  return resultOf(report, 'handler-failure')
}

it('passes a receiver that responds with 500 if its handler fails', async () => {
  expect(await checkFailing()).toMatchObject({
    verdict: 'passed',
    evidence: expect.stringMatching(/: 500 in .*: 200 in .*; handled 1 time$/),
  })
})

it('passes a receiver that stores deliveries, and repeats a handler that failed', async () => {
  expect(await checkFailing({ inbox: createMemoryInbox({ observer: {} }) })).toMatchObject({
    verdict: 'passed',
    evidence: expect.stringMatching(/: 202 in .*; handled 1 time$/),
  })
})

it('is undecided if the handler does not fail, or without an observer', async () => {
  expect(await checkFailing({ ignores: true })).toMatchObject({
    verdict: 'undecided',
    evidence: expect.stringContaining('so the handler did not fail'),
  })
  expect(await checkFailing({ hasObserver: false })).toMatchObject({
    verdict: 'undecided',
    evidence: expect.stringContaining('cannot be known without an observer'),
  })
})

const only = ['duplicate-in-turn', 'duplicate-at-once', 'retry-after-lost-response']
const options = { only, sideEffects: true, timeout: 3_000 }

/** A receiver that counts the deliveries that its handler gets. */
function counting({ duplicates }: { duplicates: boolean }): {
  listener: RequestListener
  count(id: string): number
} {
  const names: (string | undefined)[] = []
  const receiver = createReceiver({
    signatureKey: KEY,
    observer: {},
    ...(duplicates ? { duplicates: createMemoryDuplicates() } : {}),
  }).on('*', ({ webhook: { name } }) => {
    names.push(name)
  })
  return {
    listener: webhook(receiver),
    count: (id) => names.filter((name) => name === `geohook check ${id}`).length,
  }
}

it('passes a receiver that handles repeated deliveries once', async () => {
  const { listener, count } = counting({ duplicates: true })
  const report = await checkListener(listener, { ...options, observer: count })
  expect(report.conclusion).toBe('conforms')
  for (const id of only) expect(resultOf(report, id)).toMatchObject({ verdict: 'passed' })
})

it('finds a receiver that handles them twice', async () => {
  const { listener, count } = counting({ duplicates: false })
  const report = await checkListener(listener, { ...options, observer: count })
  expect(resultOf(report, 'duplicate-in-turn')).toMatchObject({
    verdict: 'failed',
    evidence: expect.stringContaining('handled 2 times'),
  })
  expect(resultOf(report, 'duplicate-at-once')).toMatchObject({ verdict: 'failed' })
  expect(resultOf(report, 'retry-after-lost-response')).toMatchObject({ verdict: 'passed' })
})

it('is undecided without an observer, and with one that fails', async () => {
  const { listener } = counting({ duplicates: true })
  const without = await checkListener(listener, options)
  expect(without.conclusion).toBe('undecided')
  expect(resultOf(without, 'retry-after-lost-response').evidence).toContain(
    'cannot be known without an observer',
  )
  const observer = (): never => {
    throw new Error('no database')
  }
  const failing = await checkListener(listener, { ...options, observer })
  expect(resultOf(failing, 'duplicate-in-turn')).toMatchObject({
    verdict: 'undecided',
    evidence: 'the scenario could not run: no database',
  })
})

it('is undecided if the observer never answers', async () => {
  const { listener } = counting({ duplicates: true })
  const observer = (): Promise<number> => new Promise(() => {})
  const report = await checkListener(listener, { ...options, timeout: 3_000, observer })
  expect(resultOf(report, 'duplicate-in-turn')).toMatchObject({
    verdict: 'undecided',
    evidence: 'the scenario could not run: the observer did not answer within 3 s',
  })
})
