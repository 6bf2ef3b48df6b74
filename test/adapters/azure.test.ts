import { HttpRequest, HttpResponse, type HttpResponseInit, InvocationContext } from '@azure/functions'
import { arcgis, createReceiver } from 'geohook'
import { webhook } from 'geohook/azure'
import { createPayload, createSigner, type SignedRequest } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const signer = createSigner({ signatureKey })
const request = await signer.sign(createPayload(['FeaturesCreated']))
const url = 'https://app.azurewebsites.net/api/hooks/lyon?x=1&x=2'

type Signed = Pick<SignedRequest, 'headers' | 'bytes'>
type Init = ConstructorParameters<typeof HttpRequest>[0]

/** The two ways in which the Azure worker creates requests: from bytes, or from a request of its HTTP server. */
const MODELS: Record<string, (init: Init, body: Uint8Array<ArrayBuffer>) => HttpRequest> = {
  'bytes from the host': (init, bytes) => new HttpRequest({ ...init, body: { bytes } }),
  'HTTP streams': ({ params = {}, ...init }, body) => {
    const stream = new Blob([body]).stream()
    const nativeRequest = new Request(init.url ?? '', {
      ...init,
      body: stream,
      duplex: 'half',
    } as RequestInit)
    return new HttpRequest({ nativeRequest, params } as Init)
  },
}

const post = (createRequest: (typeof MODELS)[string], signed: Signed = request): HttpRequest =>
  createRequest({ method: 'POST', url, headers: signed.headers, params: { tenant: 'lyon' } }, signed.bytes)

const textOf = (result: HttpResponseInit): Promise<string> => new HttpResponse(result).text()

describe.each(Object.entries(MODELS))('webhook() in Azure Functions, with %s', (_, createRequest) => {
  it('returns a result that the worker can write', async () => {
    const handler = webhook(createReceiver({ signatureKey }).on('*', () => {}))
    const context = new InvocationContext()
    const result = await (
      handler as (request: HttpRequest, context: InvocationContext) => Promise<HttpResponseInit>
    )(post(createRequest), context)
    expect(result).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: '{"status":"handled"}',
    })
    expect(await textOf(result)).toBe('{"status":"handled"}')
  })

  it('passes the complete URL and the route parameters to the key function', async () => {
    const keyRequests: unknown[] = []
    const receiver = createReceiver({
      signatureKey: (request) => {
        keyRequests.push(request.url, { ...request.params })
        return signatureKey
      },
    })
    expect((await webhook(receiver)(post(createRequest))).status).toBe(200)
    expect(keyRequests).toEqual([url, { tenant: 'lyon' }])
  })

  it('keeps the bytes of the body', async () => {
    const bodies: string[] = []
    const receiver = createReceiver({ signatureKey }).on('*', (_event, { rawBody }) => {
      bodies.push(Buffer.from(rawBody).toString())
    })
    const exact = '\ufeff{"a": 1.0,\r\n"changeTypes":["FeaturesCreated"],"b":"\\u00e9\\/"}\r\n'
    expect((await webhook(receiver)(post(createRequest, await signer.sign(Buffer.from(exact))))).status).toBe(
      200,
    )
    expect(bodies).toEqual([exact])
  })

  it('returns 500 immediately if other code has read the body', async () => {
    const { observer, calls } = createRecorder()
    const request = post(createRequest)
    await request.json()
    expect((await webhook(createReceiver({ signatureKey, observer }))(request)).status).toBe(500)
    expect(calls.map(({ code, error }) => [code, error?.hint])).toEqual([
      ['body_already_parsed', expect.stringContaining('request.json()')],
    ])
  })

  it('rejects forged and oversized deliveries', async () => {
    const forged = { ...request, bytes: new Uint8Array([123, 125]) }
    expect(
      (await webhook(createReceiver({ signatureKey, observer: {} }))(post(createRequest, forged))).status,
    ).toBe(401)
    const small = createReceiver({ signatureKey, limit: request.bytes.length - 1, observer: {} })
    expect((await webhook(small)(post(createRequest))).status).toBe(413)
  })
})

it('treats a missing body as an empty one', async () => {
  const { observer, calls } = createRecorder()
  const { headers } = await signer.sign('')
  const request = new HttpRequest({ method: 'POST', url, headers })
  expect((await webhook(createReceiver({ signatureKey, observer }))(request)).status).toBe(400)
  expect(calls[0]?.code).toBe('payload_malformed')
})

it('responds to a handshake, and rejects other methods with 405', async () => {
  const handler = webhook(createReceiver({ signatureKey, profile: arcgis, observer: {} }))
  const get = new HttpRequest({
    method: 'GET',
    url: `https://a.example/hook?crc_token=${encodeURIComponent('a+b/c==')}`,
  })
  expect((await handler(get)).status).toBe(200)
  expect(await handler(new HttpRequest({ method: 'DELETE', url }))).toMatchObject({
    status: 405,
    headers: { allow: 'GET, POST' },
  })
})
