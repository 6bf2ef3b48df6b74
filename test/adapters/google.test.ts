import { gzipSync } from 'node:zlib'
import { http } from '@google-cloud/functions-framework'
import { getTestServer } from '@google-cloud/functions-framework/testing'
import { createReceiver, type Delivery, type ReceiverOptions } from 'geohook'
import { webhook } from 'geohook/node'
import { createPayload, createSigner } from 'geohook/testing'
import supertest from 'supertest'
import { expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { createRecorder } from '../helpers/recorder.ts'

const signatureKey = 'parcels2026'
const request = await createSigner({ signatureKey }).sign(createPayload('FeaturesCreated'))

let count = 0

/** Deploys a function with a receiver on the test server of `@google-cloud/functions-framework`. */
function deploy(options: Partial<ReceiverOptions> = {}) {
  const { observer, calls } = createRecorder()
  const deliveries: Delivery[] = []
  const receiver = createReceiver({ signatureKey, observer, ...options })
  receiver.on('*', (_, delivery) => void deliveries.push(delivery))
  const name = `parcels-${count++}`
  http(name, webhook(receiver))
  const server = getTestServer(name)
  const post = (type: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
    supertest(server)
      .post('/')
      .set({ 'content-type': type, 'x-service': signatureOf(body), ...headers })
      .serialize((bytes: unknown) => bytes as string)
      .send(Buffer.from(body))
  return { server, post, deliveries, calls }
}

it('accepts the bytes that the host keeps in rawBody', async () => {
  const { post, deliveries } = deploy()
  const bodies = [
    [JSON_TYPE, Buffer.from('{"a": 1.0,\r\n"b":"\\u00e9\\/"}')],
    [FORM_TYPE, Buffer.from('payload=%7B%22a%22%3A1%7D')],
    [JSON_TYPE, Buffer.from(request.body)],
  ] as const
  for (const [type, body] of bodies) {
    await post(type, body).expect(200, { status: 'handled' })
    expect(Buffer.from(deliveries.at(-1)?.rawBody ?? [])).toEqual(body)
  }
})

it('rejects forged deliveries and methods other than POST', async () => {
  const { post, server, calls } = deploy()
  await post(JSON_TYPE, '{}', { 'x-service': '0'.repeat(64) }).expect(401)
  await supertest(server).get('/').expect(405).expect('allow', 'POST')
  await supertest(server).put('/').send({ a: 1 }).expect(405)
  expect(calls.map(({ code }) => code)).toEqual([
    'signature_mismatch',
    'method_not_allowed',
    'method_not_allowed',
  ])
})

it.each<[string, Record<string, string>]>([
  ['without a content-length', {}],
  ['with a content-length of 0', { 'content-length': '0' }],
])('reports an empty body %s as malformed', async (_, headers) => {
  const { server, calls } = deploy()
  const signed = { 'content-type': JSON_TYPE, 'x-service': signatureOf(''), ...headers }
  await supertest(server).post('/').set(signed).expect(400)
  expect(calls.map(({ code }) => code)).toEqual(['payload_malformed'])
})

it('enforces the limit of the receiver', async () => {
  const { post, calls } = deploy({ limit: 20 })
  const body = (length: number) => JSON.stringify({ a: 'x'.repeat(length - 8) })
  await post(JSON_TYPE, body(20)).expect(200)
  await post(JSON_TYPE, body(21)).expect(413)
  expect(calls.at(-1)?.code).toBe('body_too_large')
})

it('rejects a compressed body, even though the host has inflated it', async () => {
  const { post, calls, deliveries } = deploy()
  const inflated = '{"a":1}'
  const signature = { 'content-encoding': 'gzip', 'x-service': signatureOf(inflated) }
  await post(JSON_TYPE, gzipSync(inflated), signature).expect(415)
  expect(calls.map(({ code }) => code)).toEqual(['content_encoding_unsupported'])
  expect(deliveries).toEqual([])
})

it('does not see requests that the host rejects', async () => {
  const { post, calls } = deploy()
  await post(JSON_TYPE, '{"a":').expect(400)
  expect(calls).toEqual([])
})
