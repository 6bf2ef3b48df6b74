import fc from 'fast-check'
import { arcgis, createReceiver, type Delivery, type ReceiverOptions } from 'geohook'
import { type LambdaResult, webhook } from 'geohook/lambda'
import { createPayload, createSigner } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { base64Of } from '../helpers/deliver.ts'
import type { HostRequest, HostResponse } from '../helpers/mounts/host.ts'
import { invoke } from '../helpers/mounts/lambda.ts'
import { EVENTS, type LambdaFormat } from '../helpers/mounts/lambda-events.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const signer = createSigner({ signatureKey })
const signed = await signer.sign(createPayload(['FeaturesCreated']))
const FORMATS = Object.keys(EVENTS) as LambdaFormat[]

const requestOf = ({ target = '/hook', ...rest }: Partial<HostRequest>): HostRequest => {
  const [path = '', query = ''] = target.split('?')
  return { method: 'POST', target, path, query, headers: [], body: Buffer.alloc(0), ...rest }
}

const headersOf = ({ headers }: typeof signed): [string, string][] => Object.entries(headers)

interface Called extends HostResponse {
  lines: string[]
  deliveries: Delivery[]
  errors: (string | undefined)[]
}

async function call(
  format: LambdaFormat,
  request: Partial<HostRequest>,
  options: Partial<ReceiverOptions> = {},
): Promise<Called> {
  const recorder = createRecorder()
  const deliveries: Delivery[] = []
  const receiver = createReceiver({ signatureKey, observer: recorder.observer, ...options })
  receiver.on('*', (_event, delivery) => void deliveries.push(delivery))
  const answer = await invoke(webhook(receiver), format, requestOf(request))
  return {
    ...answer,
    lines: recorder.lines,
    deliveries,
    errors: recorder.calls.map(({ error }) => error?.hint),
  }
}

describe.each(FORMATS)('webhook() in Lambda, behind %s', (format) => {
  it('returns a result that the host can write', async () => {
    const answer = await call(format, { headers: headersOf(signed), body: Buffer.from(signed.body) })
    expect(answer).toMatchObject({
      status: 200,
      headers: [['content-type', 'application/json']],
      body: '{"status":"handled"}',
    })
    const refusal = await call(format, { method: 'PUT' })
    expect(refusal.status).toBe(405)
    expect(Object.fromEntries(refusal.headers)).toEqual({
      allow: 'POST',
      'content-type': 'application/problem+json',
    })
  })

  it.each<[string, Buffer, string, number]>([
    ['text', Buffer.from('{"a":1}'), 'application/json', 200],
    [
      'a BOM, CRLF and odd numbers',
      Buffer.from('\ufeff{"a": 1.0,\r\n"b":"\\u00e9\\/é🌍"}\r\n'),
      'application/json',
      200,
    ],
    ['another charset parameter', Buffer.from('{"a":1}'), 'application/json; charset=utf-8', 200],
    ['a form', Buffer.from('payload=%7B%22a%22%3A1%7D&b=%2B+'), 'application/x-www-form-urlencoded', 200],
    ['bytes that are not UTF-8', Buffer.from('{"a":"\xfe\xff"}', 'latin1'), 'application/json', 400],
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, i) => i)), 'application/octet-stream', 415],
    ['an empty body', Buffer.alloc(0), 'application/json', 400],
  ])('verifies the exact bytes: %s', async (_, body, type, status) => {
    const { headers } = await signer.sign(body)
    const called = await call(format, {
      headers: headersOf({ ...signed, headers: { ...headers, 'content-type': type } }),
      body,
    })
    expect([called.status, called.lines.filter((line) => line.includes('signature'))]).toEqual([status, []])
    if (status === 200) expect(Buffer.from(called.deliveries[0]?.rawBody ?? [])).toEqual(body)
  })

  it('applies the limit to decoded bytes', async () => {
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      for (const length of [30, 31, 32, 33]) {
        const body = Buffer.from(`{"a":"${'é'.repeat(10)}${'x'.repeat(length - 28)}"}`)
        expect(body.length).toBe(length)
        const headers: [string, string][] = [
          ['Content-Type', type],
          ['X-Service', (await signer.sign(body)).headers['x-service'] ?? ''],
        ]
        const { lines } = await call(format, { headers, body }, { limit: 31 })
        expect(lines.includes('refused body_too_large')).toBe(length > 31)
      }
    }
  })

  it.each(['abc', 'f3a1-b2_c.d~e', 'a+b/c==', '+++///=='])(
    'responds to a handshake with the token %s',
    async (token) => {
      const target = `/hook?a=b%26c&crc_token=${encodeURIComponent(token)}&z=%20`
      const { status, body } = await call(format, { method: 'GET', target }, { profile: arcgis })
      expect([status, body]).toEqual([200, JSON.stringify({ response_token: `sha256=${base64Of(token)}` })])
    },
  )

  it('responds to a handshake whose token contains + / = unencoded', async () => {
    const target = '/hook?crc_token=a+b/c=='
    const { body } = await call(format, { method: 'GET', target }, { profile: arcgis })
    expect(body).toBe(JSON.stringify({ response_token: `sha256=${base64Of('a+b/c==')}` }))
  })

  it('passes path, query, headers and method unchanged to the key function', async () => {
    const keyRequests: unknown[] = []
    const options: Partial<ReceiverOptions> = {
      signatureKey: ({ method, url, headers }) => {
        keyRequests.push(method, url, headers['x-tenant'])
        return signatureKey
      },
    }
    const target = '/hooks/lyon%20a?x=1%2B1&y=%26%3D%C3%A9&x%5B%5D='
    await call(format, { target, headers: [...headersOf(signed), ['X-Tenant', 'lyon']] }, options)
    expect(keyRequests).toEqual(['POST', target, 'lyon'])
  })

  it('keeps a question mark in a decoded path out of the query', async () => {
    const decoded = { target: '/hook', path: '/hook?crc_token=abc#x', query: 'a=b' }
    const urls: string[] = []
    const signatureKeyOf: ReceiverOptions['signatureKey'] = ({ url }) => {
      urls.push(url)
      return signatureKey
    }
    expect((await call(format, { ...decoded, method: 'GET' }, { profile: arcgis })).status).toBe(400)
    await call(format, { ...decoded, headers: headersOf(signed) }, { signatureKey: signatureKeyOf })
    expect(urls).toEqual(['/hook%3Fcrc_token=abc%23x?a=b'])
  })

  it('rejects a repeated parameter if the host passes on all values', async () => {
    const target = '/hook?crc_token=abc&crc_token=def'
    const { status } = await call(format, { method: 'GET', target }, { profile: arcgis })
    // A load balancer without multi-value headers passes only the last value to the function.
    expect(status).toBe(format === 'ALB' ? 200 : 400)
  })

  it('rejects a repeated signature header if the host passes on all values', async () => {
    const signature = signed.headers['x-service'] ?? ''
    const headers: [string, string][] = [
      ['Content-Type', 'application/json'],
      ['x-service', signature],
      ['X-Service', signature],
    ]
    const { lines } = await call(format, { headers, body: Buffer.from(signed.body) })
    expect(lines).toEqual(format === 'ALB' ? ['accepted', 'handled'] : ['refused signature_malformed'])
  })
})

const handle = async (
  event: unknown,
  options: Partial<ReceiverOptions> = {},
): Promise<[LambdaResult, string[]]> => {
  const recorder = createRecorder()
  const receiver = createReceiver({ signatureKey, observer: recorder.observer, ...options })
  return [await webhook(receiver)(event), recorder.lines]
}

it('passes route parameters to the key function', async () => {
  const options: Partial<ReceiverOptions> = { signatureKey: ({ params }) => params?.tenant as string }
  const event = {
    httpMethod: 'POST',
    path: '/hooks/lyon',
    headers: { ...(await createSigner({ signatureKey: 'lyon' }).sign({})).headers },
    pathParameters: { tenant: 'lyon' },
    body: '{}',
    isBase64Encoded: false,
  }
  expect((await handle(event, options))[0].statusCode).toBe(200)
})

it.each([
  ['null', null],
  ['undefined', undefined],
  ['a console test event', { key1: 'value1' }],
  ['a text', 'POST /hook'],
  ['a number', 7],
  ['a list', [{}]],
  ['a queue event', { Records: [{ messageId: '1', body: '{}' }] }],
  ['a scheduled event', { 'detail-type': 'Scheduled Event', detail: {}, resources: [] }],
  ['a WebSocket message', { requestContext: { connectionId: 'x', eventType: 'MESSAGE' }, body: '{}' }],
])('rejects an invocation that is not an HTTP request: %s', async (_, event) => {
  const [result, lines] = await handle(event)
  expect([result.statusCode, lines]).toEqual([405, ['refused method_not_allowed']])
})

it.each(['!', 'e30', 'e30!', 'e31=', 'e3 0=', '====', 'e30=\n', 'e30_'])(
  'rejects invalid base64, even if unsigned deliveries are accepted: %j',
  async (body) => {
    const headers = { 'content-type': 'application/json' }
    const event = { httpMethod: 'POST', path: '/', headers, body, isBase64Encoded: true }
    const [result, lines] = await handle(event, { unsigned: 'accept' })
    expect([result.statusCode, lines]).toEqual([400, ['refused body_aborted']])
  },
)

it('a REST API without binary media types passes on UTF-8; other bytes arrive damaged and are rejected', async () => {
  const eventOf = async (body: Buffer): Promise<unknown> => {
    const { headers } = await signer.sign(body)
    return { httpMethod: 'POST', path: '/', headers, body: body.toString(), isBase64Encoded: false }
  }
  expect((await handle(await eventOf(Buffer.from('\ufeff{"a":"é🌍"}\r\n'))))[1]).toEqual([
    'accepted',
    'unhandled',
  ])
  const latin1 = Buffer.from('{"a":"é"}', 'latin1')
  expect((await handle(await eventOf(latin1)))[1]).toEqual(['refused signature_mismatch'])
})

it('reports body_already_parsed for the output of a mapping template', async () => {
  const event = { httpMethod: 'POST', headers: signed.headers, body: { a: 1 } }
  const [result, lines] = await handle(event)
  expect([result.statusCode, lines]).toEqual([500, ['refused body_already_parsed']])
})

it('rejects unsigned events of any shape', async () => {
  const seed = Date.now()
  const odd = fc.oneof(
    fc.anything(),
    fc.string(),
    fc.constantFrom(null, undefined, 'POST', 'GET', '__proto__', '\ud800'),
  )
  const bag = fc.oneof(
    odd,
    fc.dictionary(
      fc.oneof(
        fc.string(),
        fc.constantFrom('x-service', 'X-Service', '__proto__', '\ud800', 'content-length'),
      ),
      odd,
    ),
  )
  const event = fc.record(
    {
      version: odd,
      httpMethod: fc.oneof(odd, fc.constant('POST')),
      path: odd,
      rawPath: odd,
      rawQueryString: odd,
      headers: bag,
      multiValueHeaders: bag,
      queryStringParameters: bag,
      multiValueQueryStringParameters: bag,
      pathParameters: bag,
      requestContext: fc.oneof(odd, fc.record({ elb: odd, http: fc.oneof(odd, fc.record({ method: odd })) })),
      body: odd,
      isBase64Encoded: fc.oneof(fc.boolean(), odd),
    },
    { requiredKeys: [] },
  )
  const handler = webhook(
    createReceiver({ signatureKey, profile: arcgis, observer: createRecorder().observer }),
  )
  await fc.assert(
    fc.asyncProperty(fc.oneof(event, odd), async (value) => {
      const result = await handler(value)
      expect(result.statusCode, `seed ${seed}`).toBeGreaterThanOrEqual(400)
      expect(Object.keys(result.multiValueHeaders ?? result.headers ?? {})).toContain('content-type')
      expect(JSON.parse(result.body)).toMatchObject({ status: result.statusCode })
    }),
    { seed, numRuns: 2_000 },
  )
})
