import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { answerOf, begin, raw, send } from '../../helpers/http.ts'
import { deliveriesOf, linesOf, type Subject, waitForLine } from '../subject.ts'
import { BODY, type ContractCase, JSON_TYPE, signatureOf, signed } from './case.ts'

const { headers = {} } = signed(BODY)

/** Starts an upload, waits until its first bytes have arrived, and disconnects. */
async function abandon(subject: Subject): Promise<void> {
  const req = begin(subject.url, { ...headers, 'content-length': 100_000 }, BODY)
  req.on('error', () => {})
  if (subject.host.readsBody) {
    // The host does not pass this upload to the receiver, so the log has no line to wait for. Once a later request has
    // its response, the first bytes of the upload have arrived too.
    await new Promise((flushed) => req.write(BODY, flushed))
    expect((await send(subject.url, signed(BODY))).status).toBe(200)
  } else {
    await waitForLine(subject, 'key lookup')
  }
  req.destroy()
}

/** Bodies that are slow, incomplete or too large. */
export const UPLOADS: readonly ContractCase[] = [
  {
    name: 'returns 408 for a stalled upload, unless the host reads bodies itself',
    codes: ['body_timeout'],
    async run(start) {
      const subject = await start('impatient')
      const req = begin(subject.url, { ...headers, 'content-length': BODY.length }, BODY.slice(0, 10))
      if (subject.host.readsBody) {
        req.on('error', () => {})
        // The host does not pass the stalled upload to the receiver, but still responds to other requests.
        expect((await send(subject.url, signed(BODY))).status).toBe(200)
        req.destroy()
        expect(await linesOf(subject)).toEqual(['accepted', 'handled'])
        return
      }
      const answer = await answerOf(req)
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([408, 'body_timeout'])
      expect(await linesOf(subject)).toEqual(['refused body_timeout'])
      expect(await deliveriesOf(subject)).toEqual([])
    },
  },
  {
    name: 'does not handle an aborted upload, and continues with the next request',
    codes: ['body_aborted'],
    async run(start) {
      const subject = await start('loggedKey')
      await abandon(subject)
      const before = subject.host.readsBody ? 1 : 0
      if (before === 0) await waitForLine(subject, 'refused body_aborted')
      expect((await send(subject.url, signed(BODY))).status).toBe(200)
      expect((await deliveriesOf(subject)).length).toBe(before + 1)
    },
  },
  {
    name: 'returns 415 or 413 based on the headers, before the body arrives',
    async run(start) {
      const subject = await start('limited')
      const long = Buffer.from(JSON.stringify({ a: 'x'.repeat(2000) }))
      for (const [body, more, status] of [
        [long, {}, 413],
        [gzipSync(BODY), { 'content-encoding': 'gzip' }, 415],
      ] as const) {
        const head = { ...signed(body).headers, ...more, 'content-length': body.length }
        const part = subject.host.readsBody ? body : body.subarray(0, 1)
        const req = begin(subject.url, head, part)
        expect((await answerOf(req)).status).toBe(status)
        req.destroy()
      }
    },
  },
  {
    name: 'returns 413 to a sender that is still sending',
    async run(start) {
      const subject = await start('limited')
      const body = Buffer.from(JSON.stringify({ a: randomBytes(300_000).toString('hex') }))
      const request = signed(body)
      expect((await send(subject.url, request)).status).toBe(413)
      const chunks = [body.subarray(0, 2000), body.subarray(2000)]
      expect((await send(subject.url, { ...request, chunks })).status).toBe(413)
    },
  },
  {
    name: 'keeps a connection alive after it refuses requests',
    async run(start) {
      const subject = await start('plain')
      const { host, pathname } = new URL(subject.url)
      const request = (signature: string, last = ''): string =>
        `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signature}\r\ncontent-length: ${BODY.length}\r\n${last}\r\n${BODY}`
      const text = await raw(
        subject.url,
        request('oops') + request('0'.repeat(64)) + request(signatureOf(BODY), 'connection: close\r\n'),
      )
      expect(text.match(/HTTP\/1.1 (\d+)/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401', 'HTTP/1.1 200'])
    },
  },
  {
    name: 'handles many concurrent requests, each with its own bytes',
    async run(start) {
      const subject = await start('plain')
      const bodies = Array.from({ length: 50 }, (_, i) => JSON.stringify({ i, pad: 'x'.repeat(i * 100) }))
      const answers = await Promise.all(bodies.map((body) => send(subject.url, signed(body))))
      expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200))
      const received = (await deliveriesOf(subject)).map(({ rawBody }) =>
        Buffer.from(rawBody, 'hex').toString(),
      )
      expect(received.sort()).toEqual([...bodies].sort())
    },
  },
  {
    name: 'returns 500 immediately if other code has already read the body',
    codes: ['body_already_parsed'],
    async run(start) {
      const subject = await start('plain', { bodyIsRead: true })
      const answer = await send(subject.url, signed(BODY))
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([500, 'body_already_parsed'])
      expect(await linesOf(subject)).toEqual(['refused body_already_parsed'])
      expect(await deliveriesOf(subject)).toEqual([])
    },
  },
]
