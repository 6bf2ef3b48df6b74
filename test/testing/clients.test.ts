import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { createReceiver } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { webhook as lambdaWebhook } from 'geohook/lambda'
import { webhook as nodeWebhook } from 'geohook/node'
import { createPayload, createSigner, type SignedRequest } from 'geohook/testing'
import { H3 } from 'h3'
import { Hono } from 'hono'
import supertest from 'supertest'
import { request as undici } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FORM_TYPE, KEY } from '../helpers/deliver.ts'

const seen: unknown[] = []
const receiver = createReceiver({
  signatureKey: KEY,
  // Verified bytes that are not a payload are refused with payload_malformed.
  observer: { refused: ({ error, body }) => void seen.push(error.code, body && Buffer.from(body)) },
}).on('*', (_, { rawBody }) => void seen.push('handled', Buffer.from(rawBody)))

let server: Server
let url = ''
beforeAll(async () => {
  server = createServer(nodeWebhook(receiver)).listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
})
afterAll(() => server.close())

const expressApp = express().post('/hook', expressWebhook(receiver))
const fastifyApp = fastify().register(fastifyWebhook(receiver), { prefix: '/hook' })
const h3App = new H3().post('/hook', h3Webhook(receiver))
const honoApp = new Hono().post('/hook', honoWebhook(receiver))

/** Each way to send a signed request, as a user writes it. */
const clients: Record<string, (request: SignedRequest) => Promise<unknown>> = {
  fetch: (request) => fetch(url, request),
  'receiver.fetch': (request) => receiver.fetch(new Request(url, request)),
  undici: async (request) => (await undici(url, request)).body.dump(),
  supertest({ headers, body }) {
    const posted = supertest(expressApp).post('/hook').set(headers)
    if (typeof body !== 'string') posted.serialize((given) => given)
    return posted.send(body)
  },
  'inject of Fastify': (request) => fastifyApp.inject({ url: '/hook', ...request }),
  'inject of Fastify with a payload': ({ method, headers, body: payload }) =>
    fastifyApp.inject({ method, url: '/hook', headers, payload }),
  'app.request of h3': async (request) => h3App.request('/hook', request),
  'app.request of Hono': async (request) => honoApp.request('/hook', request),
}

const payload = createPayload('FeaturesCreated', { serviceName: 'Flurstücke 東 & "ü"' })
const text = JSON.stringify(payload)
const json = createSigner({ signatureKey: KEY, payloadFormat: 'pjson' })
const form = createSigner({ signatureKey: KEY, contentType: FORM_TYPE, signatureIn: 'field' })
const requests: [string, SignedRequest, 'handled' | 'payload_malformed'][] = [
  ['JSON', await json.sign(payload), 'handled'],
  ['a form', await form.sign(payload), 'handled'],
  ['text with a byte order mark and white space', await json.sign(`\ufeff ${text}\r\n`), 'handled'],
  ['bytes of text', await json.sign(Buffer.from(`\ufeff${text}`)), 'handled'],
  [
    'bytes that are not UTF-8',
    await json.sign(Uint8Array.of(0xef, 0xbb, 0xbf, 0xff, 0)),
    'payload_malformed',
  ],
]

for (const [client, send] of Object.entries(clients)) {
  it.each(requests)(`${client} sends %s unchanged`, async (_, request, result) => {
    seen.length = 0
    await send(request)
    expect(seen).toEqual([result, Buffer.from(request.bytes)])
  })
}

it('body is text wherever the bytes are UTF-8', () => {
  const types = requests.map(([, { body }]) => (typeof body === 'string' ? 'text' : body.constructor.name))
  expect(types).toEqual(['text', 'text', 'text', 'text', 'Buffer'])
})

it('body fits events of AWS Lambda', async () => {
  const { headers, body } = await json.sign(payload)
  const event = { httpMethod: 'POST', path: '/hook', headers, body, isBase64Encoded: false }
  expect(await lambdaWebhook(receiver)(event)).toMatchObject({ statusCode: 200 })
})
