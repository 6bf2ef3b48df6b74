import { setTimeout as wait } from 'node:timers/promises'
import { type Connection, writeRequest } from '../connection.ts'
import { accepts, describe, isLimited, judge, refuses, type Scenario, untilProblem } from '../judge.ts'
import type { Probe } from '../probe.ts'
import { isClosed, isRefusal, isSuccess, type Reply } from '../response.ts'
import { type Finding, failed, passed, undecided } from '../types.ts'

/** Milliseconds to wait for a response that should not come. */
const QUIET = 1_000
/** Milliseconds between the bytes of a slow upload. */
const DRIP = 250
/** Milliseconds that a receiver has for ending a slow upload, beyond the timeout for responses. */
const GRACE = 5_000

/** Judges a reply to a broken request, after which the receiver may also close the connection. */
function refusesOrCloses(reply: Reply, sent: string): Finding {
  const finding = refuses(reply, sent)
  return isClosed(reply) ? passed(finding.evidence) : finding
}

/** Sends a forged and a valid delivery on one connection. */
async function afterRefusal(probe: Probe, { isPipelined }: { isPipelined: boolean }): Promise<Finding> {
  const requests = [probe.bytes({ credential: null }), probe.bytes()]
  return probe.use(async (connection) => {
    await connection.write(isPipelined ? Buffer.concat(requests) : requests[0]!)
    const first = await connection.read()
    const next = async (): Promise<Reply | undefined> =>
      connection.isReusable ? connection.read() : undefined
    if (isPipelined && isSuccess(first)) return judgeOrder(first, await next())
    if (!isRefusal(first) || isLimited(first))
      return undecided(`the receiver did not refuse an unsigned delivery: ${describe(first)}`)
    if (!isPipelined && connection.isReusable) await connection.write(requests[1]!)
    const reply = await next()
    if (reply === undefined || isClosed(reply))
      return passed('the receiver closed the connection after the refusal')
    return accepts(reply, 'a valid delivery after an unsigned one, on the same connection')
  })
}

/** Judges the responses to an unsigned and a valid delivery if the first response is a success. */
function judgeOrder(first: Reply, second: Reply | undefined): Finding {
  const responses = [first, ...(second ? [second] : [])].map(describe).join('; ')
  const evidence = `sent an unsigned and a valid delivery together: ${responses}`
  return second && isRefusal(second) && !isLimited(second) ? failed(evidence) : undecided(evidence)
}

/** Number of requests that stall: two in the body, one in the head, and one before it. */
const STALLED = 4

/**
 * Sends a valid delivery while other requests are stalled. Returns undefined if no response arrives within `patience`
 * milliseconds.
 */
async function deliverWhileStalled(probe: Probe, patience: number): Promise<Reply | undefined> {
  const late = wait(patience, undefined)
  const bytes = probe.bytes()
  const stalled = [-20, -1, 20, 0].map(async (end) => {
    const connection = await probe.connect()
    await connection.write(bytes.subarray(0, end))
    return connection
  })
  try {
    // A receiver that serves one connection at a time may not even finish a TLS handshake on another.
    await Promise.race([Promise.allSettled(stalled), late])
    const reply = probe.deliver().catch(() => undefined)
    return await Promise.race([reply, late])
  } finally {
    for (const opened of stalled)
      void opened.then(
        (connection) => connection.destroy(),
        () => {},
      )
  }
}

/** Slow, broken and unusual connections. */
export const CONNECTIONS: readonly Scenario[] = [
  {
    id: 'stalled-uploads',
    level: 'must',
    phase: 'first',
    title: 'responds to a delivery while other requests are stalled',
    reason: 'Otherwise a few stalled connections block all other senders.',
    fix: 'Serve each connection in a thread, a process or a coroutine of its own, or put a proxy in front that forwards only complete requests.',
    async run(probe) {
      let evidence = ''
      let blocked = 0
      let patience = Math.min(probe.timeout, 3 * QUIET)
      for (let round = 0; round < 3 && blocked < 2; round++) {
        const reply = await deliverWhileStalled(probe, patience)
        if (reply) return accepts(reply, `a valid delivery while ${STALLED} requests were stalled`)
        const free = await probe.deliver()
        evidence = `sent a valid delivery: no response within ${patience / 1000} s while ${STALLED} requests were stalled; after their end: ${describe(free)}`
        if (isSuccess(free) && free.milliseconds < patience / 2) blocked++
        // A busy receiver also responds late without stalled requests.
        patience = Math.min(probe.timeout, Math.max(patience, 3 * Math.ceil(free.milliseconds)))
      }
      return blocked < 2 ? undecided(evidence) : failed(evidence)
    },
  },
  {
    id: 'slow-upload',
    level: 'should',
    phase: 'waiting',
    title:
      'responds to a slow upload, or closes it, at most 5 s after the timeout of the sender (after 15 s by default)',
    reason:
      'Otherwise anyone can keep many connections open by sending a few bytes per second on each, until the receiver accepts no other connections.',
    fix: 'Limit the time for the whole body, for example to 10 s. Then respond with 408, or close the connection.',
    async run(probe) {
      const head = probe.head({ credential: probe.sender.wrongCredential(), length: 100_000 })
      const reply = await probe.use(async (connection) => {
        await connection.write(head)
        const drip = setInterval(() => void connection.write(' '), DRIP)
        return connection.read({ timeout: probe.timeout + GRACE }).finally(() => clearInterval(drip))
      })
      const evidence = `sent one byte every ${DRIP} ms: ${describe(reply)}`
      if (isLimited(reply)) return undecided(evidence)
      if (reply.status !== undefined || isClosed(reply)) return passed(evidence)
      return reply.problem === 'timeout' ? failed(evidence) : undecided(evidence)
    },
  },
  {
    id: 'cut-upload',
    level: 'must',
    title: 'does not accept a delivery whose end is missing',
    reason: 'A connection can break at any byte.',
    fix: 'Compare the number of bytes with content-length, and verify the signature over the whole body.',
    async run(probe) {
      const bytes = probe.bytes()
      async function cut(connection: Connection): Promise<void> {
        await connection.write(bytes.subarray(0, bytes.length - 20))
        connection.end()
      }
      const reply = await probe.exchange(cut, { timeout: Math.min(probe.timeout, 3 * QUIET) })
      const evidence = `sent a valid delivery without its last 20 bytes: ${describe(reply)}`
      return judge(reply, evidence, !isSuccess(reply))
    },
  },
  {
    id: 'length-short',
    level: 'must',
    title: 'refuses a delivery that is longer than its content-length',
    reason:
      'The bytes after content-length are another request, and the bytes before them are not the signed body.',
    fix: 'Read exactly content-length bytes, and verify them.',
    async run(probe) {
      const { body } = probe.sender.create()
      const bytes = probe.bytes({ body, length: body.length - 5 })
      const reply = await probe.exchange((connection) => connection.write(bytes))
      return refusesOrCloses(reply, 'a content-length that is 5 bytes too small')
    },
  },
  {
    id: 'length-conflicting',
    level: 'should',
    title: 'refuses two different values of content-length',
    reason:
      'A proxy and the receiver can disagree about where the request ends (RFC 9112 section 6.3), so only one of them sees a second request.',
    fix: 'Use an HTTP server that refuses such requests with 400.',
    async run(probe) {
      // A receiver that uses one of the values accepts one of the two deliveries.
      return untilProblem([0, 5], async (missing) => {
        const { body } = probe.sender.create()
        const headers = [['content-length', String(body.length - missing)]] as const
        const bytes = probe.bytes({ body, headers, length: body.length - (5 - missing) })
        const reply = await probe.exchange((connection) => connection.write(bytes))
        return refusesOrCloses(reply, 'two different values of content-length')
      })
    },
  },
  {
    id: 'expect-continue',
    level: 'should',
    title: 'accepts a delivery whose sender waits for 100 Continue',
    reason:
      'Some HTTP clients send `expect: 100-continue`, and send the body only after the response (RFC 9110 section 10.1.1).',
    fix: 'Use an HTTP server that sends 100 Continue.',
    async run(probe) {
      const { body } = probe.sender.create()
      return probe.use(async (connection) => {
        await connection.write(probe.head({ body, headers: [['expect', '100-continue']] }))
        const interim = await connection.read({ interim: true, timeout: Math.min(probe.timeout, 3 * QUIET) })
        if (interim.status !== undefined && interim.status >= 200) {
          const finding = accepts(interim, 'only the head of a valid delivery')
          return isSuccess(interim) ? failed(finding.evidence) : finding
        }
        await connection.write(body)
        const waited = interim.status === undefined ? 'without a 100 Continue' : `after ${interim.status}`
        return accepts(await connection.read(), `the body of a valid delivery ${waited}`)
      })
    },
  },
  {
    id: 'keep-alive-after-refusal',
    level: 'must',
    title: 'accepts a valid delivery after a refused one on the same connection, or closes it',
    reason:
      'If bytes of the refused request stay unread, the receiver takes them for the start of the next one.',
    fix: 'Read the refused body to its end, or close the connection.',
    run: (probe) => afterRefusal(probe, { isPipelined: false }),
  },
  {
    id: 'pipelined',
    level: 'must',
    title: 'keeps the order of requests that arrive together',
    reason:
      'A proxy may send requests without waiting (RFC 9112 section 9.3.2). If the responses come in another order, a refused delivery looks accepted.',
    fix: 'Use an HTTP server that responds in order, or closes the connection after a refusal.',
    run: (probe) => afterRefusal(probe, { isPipelined: true }),
  },
  {
    id: 'smuggled-request',
    level: 'must',
    title: 'does not take the body of a refused request for another request',
    reason:
      'A proxy in front sends one request; if the receiver sees two, the second one passes the proxy unchecked.',
    fix: 'Read the refused body to its end, or close the connection.',
    async run(probe) {
      const inner = writeRequest({ ...probe.target, headers: [] }, { method: 'GET', path: '/geohook-check' })
      const [refusal, second] = await probe.use(async (connection) => {
        await connection.write(probe.bytes({ body: inner, credential: null }))
        return [await connection.read(), await connection.read({ timeout: QUIET })]
      })
      const evidence = `sent an unsigned body that is an HTTP request: ${describe(refusal)}`
      if (!isRefusal(refusal) || isLimited(refusal)) return undecided(evidence)
      if (second.status === undefined) return passed(evidence)
      return failed(`sent one request, and got two responses: ${describe(refusal)}; ${describe(second)}`)
    },
  },
]
