import type { RequestListener } from 'node:http'
import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { checkListener, resultOf } from './receiver.ts'

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
