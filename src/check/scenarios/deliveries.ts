import { setTimeout as wait } from 'node:timers/promises'
import { startCounter } from '../count-handled.ts'
import { isSuccess, type Reply } from '../http/reply.ts'
import { accepts, describe, failed, isLimited, passed, refuses, undecided } from '../judge.ts'
import type { Probe } from '../probe.ts'
import type { Scenario } from '../scenario.ts'
import type { Finding } from '../types.ts'

const NO_OBSERVER = 'whether it was handled once cannot be known without an observer'
/** Milliseconds before a delivery is sent again. */
const RETRY = 500
const YEAR = 365 * 86_400_000

/** True for responses after which a sender tries again. */
const isTemporary = ({ status }: Reply): boolean =>
  status === undefined || status >= 500 || [408, 409, 425, 429].includes(status)

const judgeCount = (count: number, evidence: string, wanted: (count: number) => boolean): Finding => {
  const text = `${evidence}; handled ${count} ${count === 1 ? 'time' : 'times'}`
  return wanted(count) ? passed(text) : failed(text)
}

/** Sends a delivery until the receiver accepts it, as senders do. */
async function retry(probe: Probe, body: Uint8Array): Promise<Reply> {
  const end = performance.now() + probe.timeout
  for (;;) {
    const reply = await probe.deliver(body)
    if (!isTemporary(reply) || performance.now() > end) return reply
    await wait(RETRY)
  }
}

const agedDelivery = (id: string, title: string, sent: string, shift: number): Scenario => ({
  id,
  level: 'may',
  title,
  reason:
    'Signatures do not expire, so a captured delivery can be sent again at any time. A store of handled deliveries also protects against this, for as long as it remembers them.',
  fix: 'Refuse deliveries whose signed time is too far from now (in geohook: `maxAge`).',
  run: async (probe) =>
    refuses(await probe.deliver(probe.sender.create({ when: Date.now() + shift }).body), sent),
})

/** Duplicates, and deliveries that are lost or late. */
export const DELIVERIES: readonly Scenario[] = [
  {
    id: 'duplicate-in-turn',
    level: 'should',
    phase: 'alone',
    hasSideEffects: true,
    title: 'accepts a duplicate of a delivery, and handles the delivery once',
    reason:
      'Senders may retry if they get no response in time. Refusing the duplicate would count as a failure of the webhook.',
    fix: 'Remember handled deliveries, and respond to duplicates with 200.',
    async run(probe) {
      const { id, body } = probe.sender.create()
      const counter = await startCounter(probe, id)
      const first = accepts(await probe.deliver(body), 'a valid delivery')
      if (first.verdict !== 'passed') return first
      const second = accepts(await retry(probe, body), 'the same delivery again')
      if (second.verdict !== 'passed') return second
      if (!counter) return undecided(`${second.evidence}; ${NO_OBSERVER}`)
      return judgeCount(await counter.result(), second.evidence, (count) => count === 1)
    },
  },
  {
    id: 'duplicate-at-once',
    level: 'should',
    phase: 'alone',
    hasSideEffects: true,
    title: 'handles a delivery once if it arrives five times at the same time',
    reason: 'A sender may retry while the receiver is still handling the delivery.',
    fix: 'Reserve a delivery before you handle it. Respond to duplicates with 409 until it is handled.',
    async run(probe) {
      const { id, body } = probe.sender.create()
      const counter = await startCounter(probe, id)
      const replies = await Promise.all(Array.from({ length: 5 }, () => probe.deliver(body)))
      const statuses = replies.map(({ status }) => status ?? 'no response').join(', ')
      const evidence = `sent one delivery five times at once: ${statuses}`
      if (!replies.some(isSuccess) && replies.some(isLimited)) return undecided(evidence)
      if (!replies.some(isSuccess) || !replies.every((reply) => isSuccess(reply) || isTemporary(reply)))
        return failed(evidence)
      if (!counter) return undecided(`${evidence}; ${NO_OBSERVER}`)
      return judgeCount(await counter.result(), evidence, (count) => count === 1)
    },
  },
  {
    id: 'retry-after-lost-response',
    level: 'must',
    phase: 'alone',
    hasSideEffects: true,
    title: 'handles a retried delivery whose first response was lost',
    reason:
      'A receiver that marks a delivery as seen, and stops when the sender disconnects, loses the delivery: it takes the retry for a duplicate.',
    fix: 'Mark a delivery as handled only after it has been handled or stored.',
    async run(probe) {
      const { id, body } = probe.sender.create()
      const counter = await startCounter(probe, id)
      const connection = await probe.connect()
      await connection.write(probe.bytes(body))
      connection.destroy()
      await wait(RETRY)
      const reply = await retry(probe, body)
      const evidence = `sent a delivery, disconnected, and sent it again: ${describe(reply)}`
      if (isLimited(reply)) return undecided(evidence)
      if (!isSuccess(reply)) return failed(evidence)
      if (!counter) return undecided(`${evidence}; ${NO_OBSERVER}`)
      return judgeCount(await counter.result(), evidence, (count) => count >= 1)
    },
  },
  agedDelivery('time-stale', 'refuses a delivery from last year', 'a valid delivery from last year', -YEAR),
  agedDelivery('time-future', 'refuses a delivery from next year', 'a valid delivery from next year', YEAR),
]
