import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { writeChunk } from '../connection.ts'
import { describe, each, isLimited, judge, refuses, type Scenario } from '../judge.ts'
import type { Probe } from '../probe.ts'
import { isClosed, isRefusal, type Reply } from '../response.ts'
import { type Finding, failed, passed, undecided } from '../types.ts'

const MEBIBYTE = 1_048_576
const DECLARED = 1024 * MEBIBYTE
const STREAMED = 32 * MEBIBYTE
/** Milliseconds within which a receiver that is not busy refuses the request by its headers alone. */
const AT_ONCE = 3_000

/** Returns 64 MiB of zeros, compressed. A file of gzip may have several members (RFC 1952 section 2.2). */
const createBomb = (): Buffer => {
  const member = gzipSync(Buffer.alloc(MEBIBYTE))
  return Buffer.concat(Array.from({ length: 64 }, () => member))
}

/** Judges a reply to more bytes than any delivery has: a refusal passes, and so does a closed connection. */
function stops(reply: Reply, sent: string): Finding {
  // 408 means that the receiver waited for the rest.
  const isRight = isClosed(reply) || (isRefusal(reply) && reply.status !== 408)
  return judge(reply, `sent ${sent}: ${describe(reply)}`, isRight)
}

/** How often to send a body to a receiver that closes the connection without a response. */
const ATTEMPTS = 3
/** Milliseconds by which the pause between two chunks grows with each attempt. */
const PAUSE = 10

/** Sends the head of a body that is too large, and no byte of the body. */
const announce = (probe: Probe): Promise<Reply> => {
  const head = probe.head({ credential: probe.sender.wrongCredential(), length: DECLARED })
  return probe.exchange((connection) => connection.write(head), { timeout: Math.min(probe.timeout, AT_ONCE) })
}

/** Sends a body in parts until a response arrives, and pauses for `pause` milliseconds after each part. */
async function stream(
  probe: Probe,
  { pause = 0, isChunked = true }: { pause?: number; isChunked?: boolean } = {},
): Promise<{ reply: Reply; sent: number }> {
  const head = probe.head({
    credential: probe.sender.wrongCredential(),
    headers: isChunked ? [['transfer-encoding', 'chunked']] : [],
    length: isChunked ? null : STREAMED,
  })
  const bytes = Buffer.alloc(65_536, ' ')
  const chunk = isChunked ? writeChunk(bytes) : bytes
  let sent = 0
  const reply = await probe.use(async (connection) => {
    await connection.write(head)
    let hasReply = false
    const read = connection.read({ timeout: 2 * probe.timeout }).finally(() => {
      hasReply = true
    })
    for (; sent < STREAMED && !hasReply; sent += 65_536) {
      await Promise.race([connection.write(chunk), read])
      if (pause > 0) await Promise.race([wait(pause), read])
    }
    if (!hasReply && isChunked) void connection.write(writeChunk(Buffer.alloc(0)))
    return read
  })
  return { reply, sent }
}

/** Requests that are larger than any delivery. */
export const LIMITS: readonly Scenario[] = [
  {
    id: 'too-large-length',
    level: 'should',
    title: 'refuses a content-length of 1 GiB before the body arrives',
    reason: 'Anyone can make the receiver wait for, or store, a body that is larger than any delivery.',
    fix: 'Limit the size of bodies, for example to 1 MiB, and respond with 413 at once if content-length is above it.',
    async run(probe) {
      const start = Buffer.alloc(1000, ' ')
      const unsigned = { body: start, credential: probe.sender.wrongCredential() }
      const atOnce = Math.min(probe.timeout, AT_ONCE)
      const reply = await probe.use(async (connection) => {
        await connection.write(probe.head({ ...unsigned, length: DECLARED }))
        await connection.write(start)
        let first: Reply | undefined
        const read = connection.read({ timeout: atOnce + probe.timeout }).then((received) => {
          first = received
        })
        await Promise.race([read, wait(atOnce, undefined, { ref: false })])
        if (first) return first
        // Sends a second request to find the reason for the missing response. A busy receiver responds to the first
        // request before the second. A receiver that still reads the first body responds to the second before the first.
        const later = probe.deliver(unsigned).then(
          (reply) => (reply.status === undefined || isLimited(reply) ? read : undefined),
          () => read,
        )
        await Promise.race([read, later])
        return first
      })
      const sent = 'the first 1,000 bytes of 1 GiB'
      if (!reply) return failed(`sent ${sent}: no response, while a later request was answered`)
      const finding = stops(reply, sent)
      const isGivenUp = reply.status === undefined && reply.milliseconds > atOnce
      return isGivenUp ? { ...finding, verdict: 'failed' } : finding
    },
  },
  {
    id: 'too-large-chunked',
    level: 'should',
    title: 'refuses a body of unknown length before 32 MiB have arrived',
    reason: 'A body in chunks has no content-length, so a limit that reads only this header does nothing.',
    fix: 'Count the bytes of the body while they arrive, and respond with 413 above the limit.',
    async run(probe) {
      const { reply, sent } = await stream(probe)
      const finding = stops(reply, `${Math.ceil(sent / MEBIBYTE)} MiB in chunks`)
      if (sent >= STREAMED) return { ...finding, verdict: 'failed' }
      // On a slow network, the time for an upload may end before the receiver's limit.
      const isTooSlow = reply.status === undefined ? reply.problem === 'timeout' : reply.status === 408
      return isTooSlow ? undecided(finding.evidence) : finding
    },
  },
  {
    id: 'too-large-response',
    level: 'should',
    title: 'responds to a body that is too large, before it closes the connection',
    reason:
      'A sender treats a closed connection as a network error, and may send the same body again and again.',
    fix: 'Respond with 413 and the header connection: close, and close the connection only after the response is sent.',
    async run(probe) {
      let evidence = ''
      let attempt = 0
      for (const [what, send] of [
        ['the head of 1 GiB', () => announce(probe)],
        [
          'up to 32 MiB',
          async () => (await stream(probe, { pause: attempt * PAUSE, isChunked: false })).reply,
        ],
        ['up to 32 MiB in chunks', async () => (await stream(probe, { pause: attempt * PAUSE })).reply],
      ] as const) {
        let reply: Reply
        attempt = 0
        // If the receiver closes the connection while bytes arrive, its response can get lost. So send again, more slowly.
        do reply = await send()
        while (isClosed(reply) && ++attempt < ATTEMPTS)
        evidence = `sent ${what}${attempt > 0 ? `, ${attempt + 1} times` : ''}: ${describe(reply)}`
        if (isLimited(reply)) return undecided(evidence)
        if (isClosed(reply)) return failed(evidence)
      }
      return passed(evidence)
    },
  },
  {
    id: 'compressed-bomb',
    level: 'must',
    title: 'refuses an unsigned compressed body that grows to 64 MiB',
    reason: 'If a receiver decompresses before it verifies, anyone can exhaust its memory.',
    fix: 'Refuse content-encoding with 415, or verify the compressed bytes and limit the decompressed size.',
    run: each(refuses, (sender) => [
      {
        sent: '64 MiB compressed to 64 KiB',
        body: createBomb(),
        credential: sender.wrongCredential(),
        headers: [['content-encoding', 'gzip']],
      },
    ]),
  },
]
