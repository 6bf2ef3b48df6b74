import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { send } from '../../helpers/http.ts'
import { deliveriesOf, linesOf } from '../subject.ts'
import { BODY, type ContractCase, JSON_TYPE, signatureOf, signed } from './case.ts'

const everyByte = Buffer.concat([
  Buffer.from('{"a":"'),
  Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  Buffer.from('"}'),
])

const kept = (description: string, ...bodies: string[]): ContractCase => ({
  name: `keeps ${description} unchanged`,
  async run(start) {
    const subject = await start('plain')
    for (const body of bodies) {
      expect((await send(subject.url, signed(body))).status).toBe(200)
      expect((await deliveriesOf(subject)).at(-1)?.rawBody).toBe(Buffer.from(body).toString('hex'))
    }
  },
})

const refused = (
  description: string,
  body: string,
  type: string | undefined,
  status: number,
  code: NonNullable<ContractCase['codes']>[number],
): ContractCase => ({
  name: `rejects ${description} with ${status}, even if signed`,
  codes: [code],
  async run(start) {
    const subject = await start('plain')
    const headers = { 'x-service': signatureOf(body), ...(type ? { 'content-type': type } : {}) }
    const answer = await send(subject.url, { headers, body })
    expect(answer.status).toBe(status)
    expect(await deliveriesOf(subject)).toEqual([])
    if (subject.host.parsesBody && (await linesOf(subject)).length === 0) return
    expect(JSON.parse(answer.text).code).toBe(code)
    expect(await linesOf(subject)).toEqual([`refused ${code}`])
  },
})

const ofLength = (length: number): string => JSON.stringify({ a: 'x'.repeat(length - 8) })

/** The bytes of the body must reach the receiver unchanged, because the signature covers them. */
export const BYTES: readonly ContractCase[] = [
  {
    name: 'verifies and keeps all 256 byte values',
    async run(start) {
      const subject = await start('plain')
      const request = signed(everyByte, { 'content-type': 'application/octet-stream' })
      // The receiver checks the media type after the signature, so this error shows that the signature was valid.
      expect((await send(subject.url, request)).text).toContain('content_type_unsupported')
      expect((await subject.entries()).at(-1)?.body).toBe(everyByte.toString('hex'))
      const other = everyByte.map((byte) => byte & 0x7f)
      expect((await send(subject.url, { ...request, body: other })).status).toBe(401)
    },
  },
  kept('a byte order mark', '\ufeff{"a":1}'),
  kept('line endings', '{"a":1,\r\n"b":2}\r\n', '{"a":1}\n', '{"a":1}\r'),
  kept('JSON that a parser would write differently', '{"a": 1.0, "b":"\\u00e9\\/"}', '{"a":1,"a":2}', '[]'),
  {
    name: 'accepts a body without a content-length, in chunks of one byte',
    async run(start) {
      const subject = await start('plain')
      const chunks = [...Buffer.from('{"a":"\u00e9\u{1f30d}"}')].map((byte) => Buffer.from([byte]))
      const { headers = {} } = signed(Buffer.concat(chunks))
      expect((await send(subject.url, { headers, chunks })).status).toBe(200)
      expect((await deliveriesOf(subject))[0]?.payload).toEqual({ a: '\u00e9\u{1f30d}' })
    },
  },
  ...[
    { name: 'one byte under the limit', length: 999, status: 200 },
    { name: 'exactly the limit', length: 1000, status: 200 },
    { name: 'one byte over the limit', length: 1001, status: 413 },
  ].map(
    ({ name, length, status }): ContractCase => ({
      name: `responds with ${status} if the body size is ${name}, with and without a content-length`,
      codes: status === 413 ? ['body_too_large'] : [],
      async run(start) {
        const subject = await start('limited')
        const body = ofLength(length)
        expect(body.length).toBe(length)
        expect((await send(subject.url, signed(body))).status).toBe(status)
        const { headers = {} } = signed(body)
        expect(
          (await send(subject.url, { headers, chunks: [body.slice(0, 400), body.slice(400)] })).status,
        ).toBe(status)
        const refusals = (await linesOf(subject)).filter((line) => line === 'refused body_too_large')
        expect(refusals.length).toBe(status === 413 ? 2 : 0)
      },
    }),
  ),
  refused('another media type', BODY, 'text/plain', 415, 'content_type_unsupported'),
  refused('no media type', BODY, undefined, 415, 'content_type_unsupported'),
  refused('incomplete JSON', '{"a":', JSON_TYPE, 400, 'payload_malformed'),
  refused('an empty body', '', JSON_TYPE, 400, 'payload_malformed'),
  refused('a bad form', 'a=%zz', 'application/x-www-form-urlencoded', 400, 'payload_malformed'),
  {
    name: 'rejects an invalid media type with 415, or 401 without a signature',
    async run(start) {
      const subject = await start('plain')
      const type = { 'content-type': 'json; charset' }
      expect((await send(subject.url, { headers: type, body: BODY })).status).toBe(401)
      expect((await send(subject.url, signed(BODY, type))).status).toBe(415)
    },
  },
  {
    name: 'rejects a repeated content-type with 415, or 401 without a signature',
    async run(start) {
      const subject = await start('plain')
      if (subject.host.keepsLast) return // the host passes on only the last header
      const twice = [
        [JSON_TYPE, JSON_TYPE],
        [JSON_TYPE, 'text/plain'],
        ['text/plain', JSON_TYPE],
        [`${JSON_TYPE}; a=b`, 'text/plain'],
        ['application/x-www-form-urlencoded; charset=utf-8', JSON_TYPE],
      ]
      for (const type of twice) {
        const { headers = {} } = signed(BODY)
        const answer = await send(subject.url, { headers: { ...headers, 'content-type': type }, body: BODY })
        expect(answer.status, type.join()).toBe(415)
        const unsigned = { headers: { 'content-type': type }, body: `payload=${BODY}` }
        if (!subject.host.parsesBody) expect((await send(subject.url, unsigned)).status).toBe(401)
      }
      expect(await deliveriesOf(subject)).toEqual([])
    },
  },
  {
    name: 'rejects compressed bodies with 415',
    codes: ['content_encoding_unsupported'],
    async run(start) {
      const subject = await start('plain')
      const bodies = { gzip: gzipSync(BODY), br: brotliCompressSync(BODY), GZIP: gzipSync(BODY) }
      for (const [encoding, body] of Object.entries(bodies)) {
        expect((await send(subject.url, signed(body, { 'content-encoding': encoding }))).status).toBe(415)
      }
      expect(await linesOf(subject)).toEqual(Array(3).fill('refused content_encoding_unsupported'))
      const twice = signed(gzipSync(BODY), { 'content-encoding': 'identity, gzip' })
      expect((await send(subject.url, twice)).status).toBe(415)
      expect((await send(subject.url, signed(BODY, { 'content-encoding': 'identity' }))).status).toBe(200)
      expect((await deliveriesOf(subject)).length).toBe(1)
    },
  },
]
