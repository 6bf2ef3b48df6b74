import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import fastify from 'fastify'
import { createReceiver, type ReceiverOptions, type ReceiverRequest } from 'geohook'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { webhook as lambdaWebhook } from 'geohook/lambda'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }
const signed = { method: 'POST', headers, body: '{}' }

describe("Lambda: a host's event", () => {
  /** What the key function has seen of an event. */
  async function seenOf(event: object): Promise<ReceiverRequest> {
    const seen: unknown[] = []
    const signatureKey: ReceiverOptions['signatureKey'] = (request) => {
      seen.push(request)
      return KEY
    }
    const { statusCode } = await lambdaWebhook(createReceiver({ signatureKey }).on('*', () => {}))({
      httpMethod: 'POST',
      headers,
      body: '{}',
      ...event,
    })
    expect(statusCode).toBe(200)
    return seen[0] as ReceiverRequest
  }

  it.each<[string, object, Partial<ReceiverRequest>]>([
    ['without a path', {}, { url: '' }],
    [
      'with a raw query',
      { rawPath: '/a', rawQueryString: 'x=1&x=2', queryStringParameters: { x: '1,2' } },
      { url: '/a?x=1&x=2' },
    ],
    [
      'with an empty raw query',
      { rawPath: '/a', rawQueryString: '', queryStringParameters: { x: '1' } },
      { url: '/a' },
    ],
    [
      'with a parameter that is no text',
      { path: '/a', queryStringParameters: { x: 7, y: null, z: 'z' } },
      { url: '/a?z=z' },
    ],
    ['with a header that is no text', { headers: { ...headers, 'X-A': 7, 'x-b': null } }, { headers }],
    ['with route parameters that are none', { pathParameters: 'lyon' }, { params: undefined }],
    ['with route parameters', { pathParameters: { a: 'b' } }, { params: { a: 'b' } }],
  ])('%s', async (_, event, expected) => {
    expect(await seenOf(event)).toMatchObject(expected)
  })

  it.each([
    ['neither', {}, 'headers'],
    ['headers', { headers }, 'headers'],
    ['both', { headers, multiValueHeaders: { 'x-a': ['a'] } }, 'headers'],
    ['multi-value headers', { multiValueHeaders: { 'x-a': ['a'] } }, 'multiValueHeaders'],
  ])('with %s is answered with its kind of headers', async (_, event, name) => {
    const result = await lambdaWebhook(createReceiver({ signatureKey: KEY }))(event)
    expect(Object.keys(result).filter((one) => /headers/i.test(one))).toEqual([name])
  })

  it.each<[string, object, string, string]>([
    ['a parsed body', { body: {} }, 'not the text that was sent', 'mapping template'],
    ['broken base64', { body: '!', isBase64Encoded: true }, 'no whole base64', ''],
  ])('with %s is named', async (_, event, message, hint) => {
    const { observer, calls } = createRecorder()
    await lambdaWebhook(createReceiver({ signatureKey: KEY, observer }))({
      httpMethod: 'POST',
      headers,
      ...event,
    })
    expect(calls[0]?.error?.message).toContain(message)
    expect(calls[0]?.error?.hint).toContain(hint)
  })
})

describe("Hono: an answer through Node's own response", () => {
  const once = (): never => expect.unreachable()

  it.each<[string, object | undefined, string]>([
    ['that has ended', { writableEnded: true, statusCode: 201, once }, 'handled'],
    ['that has ended with an error', { writableEnded: true, statusCode: 503, once }, 'failed handler_failed'],
    [
      'that has ended, and is gone',
      { writableEnded: true, destroyed: true, statusCode: 201, once },
      'handled',
    ],
    [
      'that is gone',
      { writableEnded: false, destroyed: true, statusCode: 201, once },
      'failed handler_failed',
    ],
    [
      'whose stream is gone',
      { writableEnded: false, stream: { destroyed: true }, statusCode: 201, once },
      'failed handler_failed',
    ],
    ['that is not there', undefined, 'failed handler_failed'],
  ])('%s', async (_, outgoing, line) => {
    const recorder = createRecorder()
    const app = new Hono()
    app.post(
      '/',
      honoWebhook({ signatureKey: KEY, observer: recorder.observer }),
      () => RESPONSE_ALREADY_SENT,
    )
    await app.request('/', signed, { outgoing })
    expect(recorder.lines).toEqual(['accepted', line])
    const cause = String(recorder.calls.at(-1)?.error?.cause)
    if (!outgoing) expect(cause).toContain('there is nothing to answer with')
    else if (!('writableEnded' in outgoing && outgoing.writableEnded))
      expect(cause).toContain('was closed before')
  })
})

it('Hono: a next handler that does not answer is named', async () => {
  const { observer, calls } = createRecorder()
  const app = new Hono().onError((_, c) => c.text('', 500))
  app.post('/', honoWebhook({ signatureKey: KEY, observer }), async () => undefined as never)
  await app.request('/', signed)
  expect(String(calls.at(-1)?.error?.cause)).toContain('did not answer')
})

it('Hono: a body that fails while something else keeps it is body_aborted, with its cause', async () => {
  const gone = new Error('gone')
  const { observer, calls } = createRecorder()
  const app = new Hono().use((c, next) => c.req.arrayBuffer().then(next, next))
  app.post('/', honoWebhook({ signatureKey: KEY, observer }), () => expect.unreachable())
  const body = new ReadableStream({ pull: (controller) => controller.error(gone) })
  const answer = await app.request('/', { ...signed, body, duplex: 'half' } as RequestInit)
  expect([answer.status, calls[0]?.code, calls[0]?.error?.cause]).toEqual([400, 'body_aborted', gone])
})

it('h3: a route parameter with bad percent-encoding stays as it is', async () => {
  const seen: unknown[] = []
  const receiver = createReceiver({
    signatureKey: ({ params }) => {
      seen.push(params)
      return KEY
    },
  }).on('*', () => {})
  const params = { bad: '%E0%A4%A', good: 'a%2Fb' }
  const req = new Request('http://a.example', signed)
  const answer = await h3Webhook(receiver)({ req, res: {}, context: { params } })
  expect([(answer as Response).status, seen]).toEqual([200, [{ bad: '%E0%A4%A', good: 'a/b' }]])
})

it('h3: a receiver without handlers, behind which nothing comes, answers 500', async () => {
  const { observer, calls } = createRecorder()
  const req = new Request('http://a.example', signed)
  const answer = await h3Webhook({ signatureKey: KEY, observer })({ req, res: {}, context: {} })
  expect([(answer as Response).status, calls.at(-1)?.code]).toEqual([500, 'handler_failed'])
  expect(String(calls.at(-1)?.error?.cause)).toContain('nothing comes next in h3')
})

it('Fastify: an app may have a delivery of its own on its requests', async () => {
  const app = fastify().decorateRequest('delivery')
  app.register(fastifyWebhook(createReceiver({ signatureKey: KEY }).on('*', () => {})), { prefix: '/hook' })
  const { statusCode } = await app.inject({ method: 'POST', url: '/hook', headers, payload: '{}' })
  expect(statusCode).toBe(200)
  await app.close()
})
