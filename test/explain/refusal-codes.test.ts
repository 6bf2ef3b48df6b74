import { createReceiver, type Diagnosis, type ErrorCode, explain } from 'geohook'
import { describe, expect, it, onTestFinished } from 'vitest'
import { CODE_CAUSES, type RefusalCode, SYMPTOMS } from '../../src/explain/causes.ts'
import { begin, type Sent, send } from '../helpers/http.ts'
import {
  explainSeen,
  failing,
  JSON_TYPE,
  refuse,
  type Seen,
  type STATE_CODES,
  serve,
  signed,
  untilInFlight,
} from './refuse.ts'
import { hmac, KEY } from './table.ts'

const delivery: Sent = { headers: { ...JSON_TYPE, ...signed('{"a":1}') }, body: '{"a":1}' }

/** Codes that depend on the state of the receiver: how to cause each, and what the evidence says about the signature. */
const STATE: Record<
  (typeof STATE_CODES)[number],
  { signature: RegExp; run(): Promise<{ code: ErrorCode; diagnosis: Diagnosis }> }
> = {
  handler_failed: {
    signature: /The signature is valid\.$/,
    run: async () => {
      const options = {}
      failing.add(options)
      return refuse({ request: delivery, options })
    },
  },
  inbox_unavailable: {
    signature: /The signature is valid\.$/,
    run: () =>
      refuse({ request: delivery, options: { inbox: { put: () => Promise.reject(new Error('full')) } } }),
  },
  delivery_in_progress: {
    signature: /The signature is valid\.$/,
    run: () =>
      refuse({
        request: delivery,
        options: { duplicates: { claim: async () => 'busy', done: async () => {}, release: async () => {} } },
      }),
  },
  receiver_closed: {
    signature: /shuts down\.$/,
    async run() {
      const { url, seen, receiver } = await serve({})
      await receiver.close()
      await send(url, delivery)
      return explainSeen(await seen, {})
    },
  },
  receiver_busy: {
    signature: /may hold\.$/,
    async run() {
      const options = { limit: 100, maxInFlightBytes: 100 }
      const { url, seen, receiver } = await serve(options)
      const first = begin(url, { ...delivery.headers, 'transfer-encoding': 'chunked' }, 'x'.repeat(90))
      first.on('error', () => {})
      onTestFinished(() => void first.destroy())
      await untilInFlight(receiver)
      await send(url, { headers: JSON_TYPE_SIGNED, body: 'y'.repeat(90) })
      return explainSeen(await seen, options)
    },
  },
  body_timeout: {
    signature: /in time\.$/,
    async run() {
      const options = { bodyTimeout: 50 }
      const { url, seen } = await serve(options)
      const request = begin(url, { ...JSON_TYPE, 'content-length': 10, ...signed('x') }, '{')
      request.on('error', () => {})
      onTestFinished(() => void request.destroy())
      return explainSeen(await seen, options)
    },
  },
  body_aborted: {
    signature: /complete\.$/,
    async run() {
      const { url, seen, receiver } = await serve({})
      const request = begin(url, { ...JSON_TYPE, 'content-length': 10, ...signed('x') }, '{')
      request.on('error', () => {})
      await untilInFlight(receiver)
      request.destroy()
      return explainSeen(await seen, {})
    },
  },
  body_already_parsed: {
    signature: /before geohook does\.$/,
    async run() {
      let ended: Seen | undefined
      const observer = {
        refused(seen: Seen) {
          ended = seen
        },
      }
      const receiver = createReceiver({ signatureKey: KEY, observer })
      const request = new Request('http://a.example/hook', { method: 'POST', ...delivery } as RequestInit)
      await request.text()
      await receiver.fetch(request)
      return explainSeen(ended as Seen, {})
    },
  },
}
const JSON_TYPE_SIGNED = { ...JSON_TYPE, ...signed('y'.repeat(90)) }

describe('explain, codes that depend on the receiver', () => {
  it.each(Object.entries(STATE))('names %s as the cause', async (code, { run, signature }) => {
    const result = await run()
    expect(result.code).toBe(code)
    expect(result.diagnosis).toMatchObject({ ok: false, cause: code })
    expect(result.diagnosis.evidence).toMatch(new RegExp(`^The receiver reported ${code}\\. `))
    expect(result.diagnosis.evidence).toMatch(signature)
  })

  it('says that the signature does not match', async () => {
    const headers = { ...JSON_TYPE, 'x-service': '0'.repeat(64) }
    const { evidence } = await explain({ headers, body: '{}', code: 'handler_failed' }, { signatureKey: KEY })
    expect(evidence).toMatch(/The signature does not match this body with this key\.$/)
  })

  it.each(Object.keys(CODE_CAUSES) as RefusalCode[])('explains %s without a request', async (code) => {
    const diagnosis = await explain({ code, headers: {} })
    expect(diagnosis).toMatchObject({ ok: false, cause: code, fix: CODE_CAUSES[code] })
    expect(diagnosis.evidence).toBe(`The receiver reported ${code}. ${SYMPTOMS[code]}`)
  })

  it.each(['config_invalid', 'nonsense', 'toString'])('rejects the code %s', async (code) => {
    await expect(explain({ code: code as ErrorCode, headers: {} })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})

describe('explain, requests that are accepted', () => {
  const headers = { ...JSON_TYPE, ...signed('{"a":1}') }
  const request = { headers, body: '{"a":1}' }
  const options = { signatureKey: KEY }

  it('says that another receiver reported the code', async () => {
    for (const code of ['signature_mismatch', 'payload_malformed', 'content_type_unsupported'] as const) {
      const { ok, evidence } = await explain({ ...request, code }, options)
      expect([ok, evidence]).toEqual([
        true,
        expect.stringMatching(`reported ${code} had other keys or options`),
      ])
    }
  })

  it('names the option without which it cannot find the reason', async () => {
    for (const [code, option] of [
      ['payload_invalid', 'schema'],
      ['delivery_stale', 'maxAge'],
    ] as const) {
      const { ok, cause, evidence } = await explain({ ...request, code }, options)
      expect([ok, cause]).toEqual([false, code])
      expect(evidence).toContain(`The option ${option} was not given`)
    }
  })

  it('accepts a handshake, an unsigned request and a request with few headers', async () => {
    const get = { headers: {}, method: 'GET', url: '/hook?crc_token=abc', body: '' }
    expect((await explain(get, { ...options, profile: 'arcgis' })).evidence).toMatch(/valid handshake/)
    const unsigned = { headers: JSON_TYPE, body: '{}' }
    expect((await explain(unsigned, { unsigned: 'accept' })).evidence).toMatch(/accepts unsigned requests/)
    expect((await explain({ ...request, headers: signed('{"a":1}') }, options)).cause).toBe('ok')
  })
})

describe('explain, codes of another receiver', () => {
  const request = { headers: { ...JSON_TYPE, ...signed('{}') }, body: '{}' }

  it.each([
    ['a static key', KEY],
    ['a function that returns a key', () => KEY],
  ])('does not claim a missing key for %s', async (_, signatureKey) => {
    for (const body of ['{}', undefined]) {
      const { cause, evidence } = await explain({ ...request, body, code: 'key_unknown' }, { signatureKey })
      expect(cause).toBe('key_unknown')
      expect(evidence).toMatch(/reported key_unknown, but the options give a key for this request here\./)
    }
  })

  it('does not call a signature valid whose encoding is excluded', async () => {
    const headers = { ...JSON_TYPE, 'x-service': hmac(KEY, '{}').toString('base64') }
    const busy = { headers, body: '{}', code: 'receiver_busy' } as const
    expect((await explain(busy, { signatureKey: KEY, encoding: 'hex' })).evidence).toMatch(
      /The request has no valid signature\.$/,
    )
    expect((await explain(busy, { signatureKey: KEY, encoding: 'base64' })).evidence).toMatch(
      /The signature is valid\.$/,
    )
  })
})
