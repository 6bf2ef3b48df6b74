import { setTimeout as wait } from 'node:timers/promises'
import { accepts, describe, each, isLimited, refuses, type Scenario } from '../judge.ts'
import { FORM_TYPE, type Probe } from '../probe.ts'
import { isSuccess, type Reply } from '../response.ts'
import { type CheckObserver, type Finding, failed, passed, skipped, undecided } from '../types.ts'

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

const judgeHandled = async (
  counter: Counter | undefined,
  evidence: string,
  wanted: (count: number) => boolean,
): Promise<Finding> =>
  counter
    ? judgeCount(await counter.result(), evidence, wanted)
    : undecided(`${evidence}; whether it was handled cannot be known without an observer`)

/** Sends a delivery until the receiver accepts it, as senders do. */
async function retry(probe: Probe, body: Uint8Array): Promise<Reply> {
  const end = performance.now() + probe.timeout
  for (;;) {
    const reply = await probe.deliver({ body })
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
  run: each(refuses, ({ create }) => [{ sent, body: create({ when: Date.now() + shift }).body }]),
})

/** Sends a valid delivery, and waits until the observer counts it. Returns the count, or an undecided finding. */
async function countValid(probe: Probe): Promise<number | Finding> {
  const { id, body } = probe.sender.create()
  const counter = await startCounter(probe, id)
  const finding = accepts(await probe.deliver({ body }), 'a valid delivery')
  if (!counter || finding.verdict !== 'passed') return undecided(finding.evidence)
  const count = await counter.result()
  return count > 0 ? count : undecided(`${finding.evidence}; the observer did not count it`)
}

/** Sends forged deliveries between two valid ones. Those show that the observer counts, and that nothing is pending. */
async function countForgeries(probe: Probe): Promise<Finding> {
  const { observer, sender, timeout } = probe
  if (!observer) return skipped('it needs an observer (--observer), which counts handled deliveries')
  const { id, body } = sender.create()
  const count = async (): Promise<[number, number]> => [
    await countHandled(observer, timeout, id),
    await countHandled(observer, timeout, sender.create().id), // counts only if the observer ignores the id
  ]
  const perDelivery = await countValid(probe)
  if (typeof perDelivery !== 'number') return perDelivery
  const before = await count()
  const replies = [
    await probe.deliver({ body, credential: null }),
    await probe.deliver({ body, credential: 'malformed' }),
    await probe.deliver({ body, credential: sender.wrongCredential() }),
    await probe.deliver({
      body: Buffer.concat([body, Buffer.from(' ')]),
      credential: sender.isSigned ? sender.credential(body) : null,
    }),
    await probe.deliver({
      body: Buffer.from(new URLSearchParams({ payload: body.toString() }).toString()),
      contentType: FORM_TYPE,
      credential: null,
    }),
    await probe.deliver({ body, method: 'PUT', credential: null }),
  ]
  const statuses = replies.map(({ status }) => status ?? 'no response').join(', ')
  const evidence = `sent ${replies.length} forged deliveries: ${statuses}`
  if (replies.some((reply) => isSuccess(reply) || isLimited(reply))) return undecided(evidence)
  const valid = await countValid(probe)
  if (typeof valid !== 'number') return valid
  const [ofId, ofAnother] = (await count()).map((number, at) => number - before[at]!) as [number, number]
  return judgeCount(ofAnother > 0 ? ofId - perDelivery : ofId, evidence, (handled) => handled <= 0)
}

/** Milliseconds in which nothing more must happen: a receiver may respond before it calls the handler. */
const QUIET = 1_000

/** Makes the handler fail for a delivery, then work again. Sends the delivery again unless it was accepted. */
async function handleAfterFailure(probe: Probe): Promise<Finding> {
  const { failHandler } = probe
  if (!failHandler) return skipped('it needs a command that makes the handler fail (--fail-command)')
  const { id, body } = probe.sender.create()
  const counter = await startCounter(probe, id)
  let reply: Reply
  let early = 0
  await failHandler(id, true)
  try {
    reply = await probe.deliver({ body })
    await wait(QUIET)
    if (counter) early = await counter.now()
  } finally {
    await failHandler(id, false)
  }
  let evidence = `sent a delivery whose handler fails: ${describe(reply)}`
  if (reply.status === 429) return undecided(evidence)
  if (early > 0) return undecided(`${evidence}; the observer counted it, so the handler did not fail`)
  if (!isSuccess(reply)) {
    const again = await retry(probe, body)
    evidence += `; sent it again when the handler worked: ${describe(again)}`
    if (isLimited(again)) return undecided(evidence)
    if (!isSuccess(again)) return failed(evidence)
  }
  return judgeHandled(counter, evidence, (count) => count >= 1)
}

/** Duplicates, and deliveries that are lost or late. */
export const DELIVERIES: readonly Scenario[] = [
  {
    id: 'forged-not-handled',
    level: 'must',
    phase: 'alone',
    title: 'does not handle forged deliveries that it refuses',
    reason:
      'If a receiver starts its handlers before the signature is verified, they handle forged deliveries, although the response is 401.',
    fix: 'Verify the signature first, and refuse the request if it is wrong. Use the body only afterwards.',
    run: countForgeries,
  },
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
      const first = accepts(await probe.deliver({ body }), 'a valid delivery')
      if (first.verdict !== 'passed') return first
      const second = accepts(await retry(probe, body), 'the same delivery again')
      if (second.verdict !== 'passed') return second
      return judgeHandled(counter, second.evidence, (count) => count === 1)
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
      const replies = await Promise.all(Array.from({ length: 5 }, () => probe.deliver({ body })))
      const statuses = replies.map(({ status }) => status ?? 'no response').join(', ')
      const evidence = `sent one delivery five times at once: ${statuses}`
      if (!replies.some(isSuccess) && replies.some(isLimited)) return undecided(evidence)
      if (!replies.some(isSuccess) || !replies.every((reply) => isSuccess(reply) || isTemporary(reply)))
        return failed(evidence)
      return judgeHandled(counter, evidence, (count) => count === 1)
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
      await connection.write(probe.bytes({ body }))
      connection.destroy()
      await wait(RETRY)
      const reply = await retry(probe, body)
      const evidence = `sent a delivery, disconnected, and sent it again: ${describe(reply)}`
      if (isLimited(reply)) return undecided(evidence)
      if (!isSuccess(reply)) return failed(evidence)
      return judgeHandled(counter, evidence, (count) => count >= 1)
    },
  },
  {
    id: 'handler-failure',
    level: 'must',
    phase: 'alone',
    hasSideEffects: true,
    title: 'does not lose a delivery whose handler fails',
    reason:
      'After a 2xx, the sender does not retry, so the receiver must run the handler again. After a 5xx, the sender retries: if the receiver treats the retry as a duplicate, the events are lost.',
    fix: 'If the handler fails, respond with 500, and do not record the delivery as handled. Or store the delivery before you respond, and run the handler again.',
    run: handleAfterFailure,
  },
  agedDelivery('time-stale', 'refuses a delivery from last year', 'a valid delivery from last year', -YEAR),
  agedDelivery('time-future', 'refuses a delivery from next year', 'a valid delivery from next year', YEAR),
]

/** Milliseconds between two calls of the observer. */
const INTERVAL = 100

/** Counts how often a delivery is handled, from now on. */
interface Counter {
  /** Resolves with the count so far. */
  now(): Promise<number>
  /** Resolves when the delivery has been handled and the count is stable, or when the timeout of the run is over. */
  result(): Promise<number>
}

/** Calls an observer. Throws if it does not return a number in time. */
async function countHandled(observer: CheckObserver, timeout: number, id: string): Promise<number> {
  const stop = new AbortController()
  const late = wait(timeout, 'late', { signal: stop.signal })
  late.catch(() => {}) // aborted
  const value: unknown = await Promise.race([observer(id), late]).finally(() => stop.abort())
  if (value === 'late') throw new Error(`the observer did not answer within ${timeout / 1000} s`)
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new Error('the observer did not return a number')
}

/**
 * Starts to count.
 *
 * @returns undefined without an observer
 */
async function startCounter(probe: Probe, id: string): Promise<Counter | undefined> {
  const { observer, timeout } = probe
  if (!observer) return undefined
  const count = (): Promise<number> => countHandled(observer, timeout, id)
  const before = await count()
  return {
    now: async () => (await count()) - before,
    async result() {
      let last = await count()
      let changed = performance.now()
      const end = changed + timeout
      for (;;) {
        const now = performance.now()
        const isQuiet = now - changed >= QUIET
        if ((isQuiet && last > before) || now >= end) return last - before
        await wait(INTERVAL)
        const next = await count()
        if (next !== last) changed = performance.now()
        last = next
      }
    },
  }
}
