import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import fastify from 'fastify'
import { createReceiver, type ReceiverOptions } from 'geohook'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { webhook as lambdaWebhook } from 'geohook/lambda'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import type { ReceiverRequest } from '../helpers/receiver-port.ts'
import { createRecorder } from '../helpers/recorder.ts'

const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}') }
const signed = { method: 'POST', headers, body: '{}' }

describe('Lambda: an event', () => {
  /** Returns the request that the key function receives for an event. */
  async function requestOf(event: object): Promise<ReceiverRequest> {
    const requests: unknown[] = []
    const signatureKey: ReceiverOptions['signatureKey'] = (request) => {
      requests.push(request)
      return KEY
    }
    const { statusCode } = await lambdaWebhook(createReceiver({ signatureKey }).on('*', () => {}))({
      httpMethod: 'POST',
      headers,
      body: '{}',
      ...event,
    })
    expect(statusCode).toBe(200)
    return requests[0] as ReceiverRequest
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
      'with a parameter that is not a string',
      { path: '/a', queryStringParameters: { x: 7, y: null, z: 'z' } },
      { url: '/a?z=z' },
    ],
    ['with a header that is not a string', { headers: { ...headers, 'X-A': 7, 'x-b': null } }, { headers }],
    ['with invalid route parameters', { pathParameters: 'lyon' }, { params: undefined }],
    ['with route parameters', { pathParameters: { a: 'b' } }, { params: { a: 'b' } }],
  ])('%s', async (_, event, expected) => {
    expect(await requestOf(event)).toMatchObject(expected)
  })

  it.each([
    ['neither', {}, 'headers'],
    ['headers', { headers }, 'headers'],
    ['both', { headers, multiValueHeaders: { 'x-a': ['a'] } }, 'headers'],
    ['multi-value headers', { multiValueHeaders: { 'x-a': ['a'] } }, 'multiValueHeaders'],
  ])('with %s gets a response with the same kind of headers', async (_, event, name) => {
    const result = await lambdaWebhook(createReceiver({ signatureKey: KEY }))(event)
    expect(Object.keys(result).filter((member) => /headers/i.test(member))).toEqual([name])
  })

  it.each<[string, object, string, string]>([
    ['a parsed body', { body: {} }, 'not the body that was sent', 'mapping template'],
    ['broken base64', { body: '!', isBase64Encoded: true }, 'not complete base64', ''],
  ])('with %s gets an error that names the problem', async (_, event, message, hint) => {
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

describe("Hono: a response through Node's own response object", () => {
  const once = (): never => expect.unreachable()

  it.each<[string, object | undefined, string]>([
    ['ended', { writableEnded: true, statusCode: 201, once }, 'handled'],
    ['ended with an error', { writableEnded: true, statusCode: 503, once }, 'failed handler_failed'],
    ['ended and destroyed', { writableEnded: true, destroyed: true, statusCode: 201, once }, 'handled'],
    [
      'that is destroyed',
      { writableEnded: false, destroyed: true, statusCode: 201, once },
      'failed handler_failed',
    ],
    [
      'whose stream is destroyed',
      { writableEnded: false, stream: { destroyed: true }, statusCode: 201, once },
      'failed handler_failed',
    ],
    ['that is missing', undefined, 'failed handler_failed'],
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
    if (!outgoing) expect(cause).toContain('the response object is missing')
    else if (!('writableEnded' in outgoing && outgoing.writableEnded))
      expect(cause).toContain('was closed before')
  })
})

it('Hono: reports a next handler that does not respond', async () => {
  const { observer, calls } = createRecorder()
  const app = new Hono().onError((_, c) => c.text('', 500))
  app.post('/', honoWebhook({ signatureKey: KEY, observer }), async () => undefined as never)
  await app.request('/', signed)
  expect(String(calls.at(-1)?.error?.cause)).toContain('did not respond')
})

it('Hono: reports body_aborted with its cause if other middleware could not read the body', async () => {
  const gone = new Error('gone')
  const { observer, calls } = createRecorder()
  const app = new Hono().use((c, next) => c.req.arrayBuffer().then(next, next))
  app.post('/', honoWebhook({ signatureKey: KEY, observer }), () => expect.unreachable())
  const body = new ReadableStream({ pull: (controller) => controller.error(gone) })
  const answer = await app.request('/', { ...signed, body, duplex: 'half' } as RequestInit)
  expect([answer.status, calls[0]?.code, calls[0]?.error?.cause]).toEqual([400, 'body_aborted', gone])
})

it('h3: keeps a route parameter with invalid percent-encoding unchanged', async () => {
  const keyParams: unknown[] = []
  const receiver = createReceiver({
    signatureKey: ({ params }) => {
      keyParams.push(params)
      return KEY
    },
  }).on('*', () => {})
  const params = { bad: '%E0%A4%A', good: 'a%2Fb' }
  const req = new Request('http://a.example', signed)
  const answer = await h3Webhook(receiver)({ req, res: {}, context: { params } })
  expect([(answer as Response).status, keyParams]).toEqual([200, [{ bad: '%E0%A4%A', good: 'a/b' }]])
})

it('h3: returns unhandled if there are neither handlers nor a next handler', async () => {
  const { observer, calls } = createRecorder()
  const req = new Request('http://a.example', signed)
  const answer = await h3Webhook({ signatureKey: KEY, observer })({ req, res: {}, context: {} })
  expect([(answer as Response).status, calls.at(-1)?.name]).toEqual([200, 'unhandled'])
})

it('Fastify: works if the app also decorates requests with delivery', async () => {
  const app = fastify().decorateRequest('delivery')
  app.register(fastifyWebhook(createReceiver({ signatureKey: KEY }).on('*', () => {})), { prefix: '/hook' })
  const { statusCode } = await app.inject({ method: 'POST', url: '/hook', headers, payload: '{}' })
  expect(statusCode).toBe(200)
  await app.close()
})
