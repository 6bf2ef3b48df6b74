import { createHmac } from 'node:crypto'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { arcgis, createReceiver, type Delivery, type Receiver, type ReceiverOptions } from 'geohook'
import { afterEach, describe, expect, it } from 'vitest'
import { answerOf, begin, raw, type Sent, send } from '../helpers/http.ts'
import type { Mount, Mounted } from '../helpers/mounts.ts'
import { createRecorder, type Recorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const JSON_TYPE = 'application/json'
const BODY = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'

const signatureOf = (body: Uint8Array | string, key = signatureKey): string =>
  createHmac('sha256', key).update(body).digest('hex')

const signed = (body: Uint8Array | string, headers: Sent['headers'] = {}): Sent => ({
  headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers },
  body,
})

/** What every adapter does alike. Each case runs against a real server on a real socket. */
export function adapterContract(name: string, mount: Mount): void {
  describe(name, () => {
    const open: Mounted[] = []
    afterEach(async () => {
      for (const mounted of open.splice(0)) await mounted.close()
    })

    interface Started {
      url: string
      recorder: Recorder
      deliveries: Delivery[]
      receiver: Receiver
      hostReadsBody: boolean
    }

    async function start(
      options: Partial<ReceiverOptions> = {},
      handle?: (delivery: Delivery) => unknown,
    ): Promise<Started> {
      const recorder = createRecorder()
      const deliveries: Delivery[] = []
      const receiver = createReceiver({ signatureKey, observer: recorder.observer, ...options })
      receiver.on('*', async (_, delivery) => {
        deliveries.push(delivery)
        await handle?.(delivery)
      })
      const mounted = await mount(receiver)
      open.push(mounted)
      const { url, hostReadsBody = false } = mounted
      return { url, recorder, deliveries, receiver, hostReadsBody }
    }

    it('hands a signed delivery to its handlers and answers 200', async () => {
      const { url, recorder, deliveries } = await start()
      const answer = await send(url, signed(BODY))
      expect(answer).toMatchObject({ status: 200, text: '{"status":"handled"}' })
      expect(answer.headers['content-type']).toBe('application/json')
      expect(recorder.lines).toEqual(['accepted', 'handled'])
      const [delivery] = deliveries
      expect(delivery).toMatchObject({
        changeTypes: ['FeaturesCreated'],
        contentType: JSON_TYPE,
        keyIndex: 0,
        payload: JSON.parse(BODY),
        profile: 'service',
      })
      expect(delivery?.id).toMatch(/^[0-9a-f]{32}$/)
      expect(delivery?.headers['x-service']).toBe(signatureOf(BODY))
    })

    it('verifies and keeps exact bytes', async () => {
      const all = Buffer.concat([
        Buffer.from('{"a":"'),
        Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
        Buffer.from('"}'),
      ])
      const { url, recorder, deliveries, hostReadsBody } = await start()
      for (const body of [
        Buffer.from('\ufeff{"a":1}\r\n'),
        Buffer.from('{"a": 1.0,\r\n"b":"\\u00e9\\/"}'),
        Buffer.from('[]'),
      ]) {
        expect((await send(url, signed(body))).status).toBe(200)
        expect(Buffer.from(deliveries.at(-1)?.rawBody ?? [])).toEqual(body)
      }
      // Every byte value: the signature is right, and only then it turns out not to be UTF-8.
      const refused = await send(url, signed(all))
      expect(refused.status).toBe(400)
      if (hostReadsBody) return // it may parse what it reads, and refuse by itself
      expect(refused.text).toContain('payload_malformed')
      expect(Buffer.from(recorder.seen.at(-1)?.body ?? [])).toEqual(all)
      expect((await send(url, { ...signed(all), body: all.map((byte) => byte & 0x7f) })).status).toBe(401)
    })

    it('takes pieces without a content-length, cut anywhere', async () => {
      const { url, deliveries } = await start()
      const chunks = [...Buffer.from('{"a":"\u00e9\u{1f30d}"}')].map((byte) => Buffer.from([byte]))
      const { headers = {} } = signed(Buffer.concat(chunks))
      expect((await send(url, { headers, chunks })).status).toBe(200)
      expect(deliveries[0]?.payload).toEqual({ a: '\u00e9\u{1f30d}' })
    })

    it.each([
      ['missing', undefined, 'signature_missing'],
      ['empty', '', 'signature_missing'],
      ['malformed', 'sha256=oops', 'signature_malformed'],
      ['doubled', [signatureOf(BODY), signatureOf(BODY)], 'signature_malformed'],
      ['not ASCII', Buffer.from('\u00e9'.repeat(32)).toString('latin1'), 'signature_malformed'],
      ['wrong', '0'.repeat(64), 'signature_mismatch'],
    ])('answers a signature that is %s with 401 and one body', async (_, signature, code) => {
      const { url, recorder, deliveries } = await start()
      const headers = {
        'content-type': JSON_TYPE,
        ...(signature === undefined ? {} : { 'x-service': signature }),
      }
      const answer = await send(url, { headers, body: BODY })
      expect(answer.status).toBe(401)
      expect(answer.text).toBe('{"title":"Unauthorized","status":401,"code":"unauthorized"}')
      expect(answer.headers['content-type']).toBe('application/problem+json')
      expect(answer.headers['www-authenticate']).toBe('HMAC-SHA256')
      expect(recorder.lines).toEqual([`refused ${code}`])
      expect(deliveries).toEqual([])
    })

    it('answers 401 with the same body where there is no key', async () => {
      const { url, recorder } = await start({ signatureKey: () => null })
      const answer = await send(url, signed(BODY))
      expect(answer.text).toBe('{"title":"Unauthorized","status":401,"code":"unauthorized"}')
      expect(recorder.lines).toEqual(['refused key_unknown'])
    })

    it('reads header names in any case', async () => {
      const { url } = await start({ signatureHeader: 'X-Esrihook-Signature' })
      const headers = { 'CONTENT-TYPE': JSON_TYPE, 'x-ESRIHOOK-signature': signatureOf(BODY) }
      expect((await send(url, { headers, body: BODY })).status).toBe(200)
    })

    it('holds the limit to the byte, with and without a content-length', async () => {
      const { url, recorder } = await start({ limit: 1000 })
      for (const [length, status] of [
        [999, 200],
        [1000, 200],
        [1001, 413],
      ] as const) {
        const body = JSON.stringify({ a: 'x'.repeat(length - 8) })
        expect(body.length).toBe(length)
        expect((await send(url, signed(body))).status).toBe(status)
        const { headers = {} } = signed(body)
        const cut = [body.slice(0, 400), body.slice(400)]
        expect((await send(url, { headers, chunks: cut })).status).toBe(status)
      }
      expect(recorder.lines.filter((line) => line === 'refused body_too_large').length).toBe(2)
    })

    it('lets a sender read 413 while it is still sending megabytes', async () => {
      const { url } = await start({ limit: 1000 })
      const body = Buffer.from(JSON.stringify({ a: 'x'.repeat(600_000) }))
      expect(await send(url, signed(body))).toMatchObject({ status: 413 })
      expect(
        await send(url, { ...signed(body), chunks: [body.subarray(0, 2000), body.subarray(2000)] }),
      ).toMatchObject({
        status: 413,
      })
    })

    it('answers a stalled upload with 408', async ({ skip }) => {
      const { url, recorder, deliveries, hostReadsBody } = await start({ bodyTimeout: 50 })
      skip(hostReadsBody, 'the host waits for the whole body')
      const { headers = {} } = signed(BODY)
      const answer = await answerOf(
        begin(url, { ...headers, 'content-length': BODY.length }, BODY.slice(0, 10)),
      )
      expect(answer.status).toBe(408)
      expect(answer.text).toContain('"code":"body_timeout"')
      expect(recorder.lines).toEqual(['refused body_timeout'])
      expect(deliveries).toEqual([])
    })

    it('hears of an upload that breaks off, and goes on', async ({ skip }) => {
      let asked = (): void => {}
      const reading = new Promise<void>((resolve) => {
        asked = resolve
      })
      const keyOnce = () => {
        asked()
        return signatureKey
      }
      const { url, recorder, hostReadsBody } = await start({ signatureKey: keyOnce })
      skip(hostReadsBody, 'the host waits for the whole body')
      const { headers = {} } = signed(BODY)
      const req = begin(url, { ...headers, 'content-length': 100_000 }, BODY)
      req.on('error', () => {})
      await reading
      req.destroy()
      await recorder.told('refused body_aborted')
      expect((await send(url, signed(BODY))).status).toBe(200)
    })

    it('refuses compressed bodies before it reads them', async () => {
      const { url, recorder } = await start()
      const compressed = {
        gzip: gzipSync,
        br: brotliCompressSync,
        GZIP: gzipSync,
        'identity, gzip': gzipSync,
      }
      for (const [encoding, compress] of Object.entries(compressed)) {
        const request = signed(compress(BODY), { 'content-encoding': encoding })
        expect((await send(url, request)).status).toBe(415)
      }
      const refusals = new Set(recorder.lines)
      expect((await send(url, signed(BODY, { 'content-encoding': 'identity' }))).status).toBe(200)
      expect([...refusals]).toEqual(['refused content_encoding_unsupported'])
    })

    it.for([
      ['another media type', BODY, 'text/plain', 415, 'content_type_unsupported'],
      ['no media type', BODY, undefined, 415, 'content_type_unsupported'],
      ['half a JSON', '{"a":', JSON_TYPE, 400, 'payload_malformed'],
      ['an empty body', '', JSON_TYPE, 400, 'payload_malformed'],
      ['a bad form', 'a=%zz', 'application/x-www-form-urlencoded', 400, 'payload_malformed'],
    ] as const)('refuses %s, though it is signed', async ([, body, type, status, code], { skip }) => {
      const { url, recorder, hostReadsBody } = await start()
      skip(hostReadsBody && body === '{"a":', 'the host parses what it reads, and refuses by itself')
      const headers = { 'x-service': signatureOf(body), ...(type ? { 'content-type': type } : {}) }
      const answer = await send(url, { headers, body })
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([status, code])
      expect(recorder.lines).toEqual([`refused ${code}`])
    })

    it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])(
      'answers %s with 405 and what is allowed',
      async (method) => {
        const { url, recorder } = await start()
        const answer = await send(url, { method })
        expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
        expect(recorder.lines).toEqual(['refused method_not_allowed'])
      },
    )

    it('answers a handshake, and verifies what follows', async () => {
      const { url } = await start({ profile: arcgis })
      const token = 'f3a1-b2_c.d~e+/='
      const expected = createHmac('sha256', signatureKey).update(token).digest('base64')
      const answer = await send(`${url}?a=b&crc_token=${encodeURIComponent(token)}`, { method: 'GET' })
      expect(answer).toMatchObject({ status: 200, text: `{"response_token":"sha256=${expected}"}` })
      const headers = {
        'content-type': JSON_TYPE,
        'x-esriHook-Signature': `sha256=${createHmac('sha256', signatureKey).update(BODY).digest('base64')}`,
      }
      expect((await send(url, { headers, body: BODY })).status).toBe(200)
      expect((await send(url, { method: 'PUT' })).headers.allow).toBe('GET, POST')
    })

    it('finds the key by URL, headers and method', async () => {
      const { url, recorder } = await start({
        signatureKey: async ({ method, url: target, headers }) =>
          method === 'POST' && target.endsWith('/hook?tenant=b') && headers['x-tenant'] === 'b'
            ? ['new-b', 'key-b']
            : undefined,
      })
      const request = signed(BODY, { 'x-service': signatureOf(BODY, 'key-b'), 'x-tenant': 'b' })
      expect((await send(`${url}?tenant=b`, request)).status).toBe(200)
      expect((await send(url, request)).status).toBe(401)
      expect(recorder.seen.find(({ name }) => name === 'accepted')?.delivery?.keyIndex).toBe(1)
    })

    it('answers 500 when a handler fails, and says nothing of why', async () => {
      const { url, recorder } = await start({}, () => {
        throw new Error('secret \u00e9 detail')
      })
      const answer = await send(url, signed(BODY))
      expect(answer).toMatchObject({
        status: 500,
        text: '{"title":"Handler failed","status":500,"code":"handler_failed"}',
      })
      expect(recorder.lines).toEqual(['accepted', 'failed handler_failed'])
      expect(recorder.seen[1]?.error?.cause).toMatchObject({ errors: [new Error('secret \u00e9 detail')] })
    })

    it('handles many at once, each with its own bytes', async () => {
      const { url, deliveries } = await start()
      const bodies = Array.from({ length: 50 }, (_, i) => JSON.stringify({ i, pad: 'x'.repeat(i * 100) }))
      const answers = await Promise.all(bodies.map((body) => send(url, signed(body))))
      expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200))
      expect(deliveries.map(({ rawBody }) => Buffer.from(rawBody).toString()).sort()).toEqual(
        [...bodies].sort(),
      )
    })

    it('keeps a connection alive over refusals', async () => {
      const { url } = await start()
      const { host } = new URL(url)
      const request = (signature: string, last = ''): string =>
        `POST /hook HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signature}\r\ncontent-length: ${BODY.length}\r\n${last}\r\n${BODY}`
      const text = await raw(
        url,
        request('oops') + request('0'.repeat(64)) + request(signatureOf(BODY), 'connection: close\r\n'),
      )
      expect(text.match(/HTTP\/1.1 (\d+)/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401', 'HTTP/1.1 200'])
    })

    it('answers 503 once it is closed, and what is at work is still answered', async () => {
      let release = (): void => {}
      const gate = new Promise<void>((resolve) => {
        release = resolve
      })
      const { url, recorder, receiver } = await start({}, () => gate)
      const first = send(url, signed(BODY))
      await recorder.told('accepted')
      const closed = receiver.close()
      const late = await send(url, signed(BODY))
      expect([late.status, late.headers['retry-after']]).toEqual([503, '5'])
      release()
      await closed
      expect((await first).status).toBe(200)
    })
  })
}
