import { once } from 'node:events'
import http from 'node:http'
import { Pool } from 'undici'
import { createMockService } from '../../dist/mock.js'
import { KEY } from '../lib/payloads.mjs'
import { deliverByHand } from './by-hand.mjs'

const EVENT = { serviceName: 'Parcels', serviceType: 'FeatureServer', changeType: 'FeaturesCreated' }

export function createMock(hookUrl, concurrency) {
  const { serviceName, serviceType } = EVENT
  const webhook = { id: 'w', name: 'bench', serviceName, serviceType, hookUrl, signatureKey: KEY }
  return createMockService({ concurrency, webhooks: [webhook] })
}

/** Returns the headers and body of a request of the mock service, without the headers that the HTTP client adds. */
export async function recordRequest(hookUrl) {
  const service = createMock(hookUrl, 1)
  const [{ request }] = await service.trigger(EVENT)
  await service.close()
  const { host: _host, 'content-length': _length, ...headers } = request.headers
  return { headers, body: Buffer.from(request.body) }
}

/** Returns a function that sends `count` requests, with at most `atOnce` in flight. */
const inTurn = (atOnce, sendOne) => async (count) => {
  let left = count
  async function sendSome() {
    while (left > 0) {
      left -= 1
      await sendOne()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sendSome))
}

const poolOf = (url, atOnce) => new Pool(new URL(url).origin, { connections: atOnce, pipelining: 1 })

/** Functions that create senders. A sender is a function that sends `count` requests and awaits their responses. */
export const SENDERS = {
  async geohook(url, _request, atOnce) {
    const service = createMock(url, atOnce)
    return inTurn(atOnce, async () => {
      const [{ answer, error }] = await service.trigger(EVENT)
      if (answer?.status !== 200) throw new Error(`a delivery failed: ${error}`)
    })
  },

  async 'undici Pool.request'(url, request, atOnce) {
    const pool = poolOf(url, atOnce)
    const options = { ...request, method: 'POST', path: new URL(url).pathname }
    return inTurn(atOnce, async () => {
      const { statusCode, body } = await pool.request(options)
      await body.text()
      requireOk(statusCode)
    })
  },

  async 'undici Pool.dispatch'(url, request, atOnce) {
    const pool = poolOf(url, atOnce)
    const options = { ...request, method: 'POST', path: new URL(url).pathname }
    const sendOne = () =>
      new Promise((resolve, reject) => {
        const chunks = []
        pool.dispatch(options, {
          onRequestStart() {},
          onResponseStart: (_controller, status) => requireOk(status),
          onResponseData: (_controller, chunk) => chunks.push(chunk),
          onResponseEnd: () => resolve(Buffer.concat(chunks).toString()),
          onResponseError: (_controller, error) => reject(error),
        })
      })
    return inTurn(atOnce, sendOne)
  },

  async 'the same by hand: written, signed, kept'(url, _request, atOnce) {
    const deliver = deliverByHand(poolOf(url, atOnce), url)
    return inTurn(atOnce, async () => requireOk((await deliver()).status))
  },

  async 'node:http Agent'(url, { headers, body }, atOnce) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce })
    const options = { agent, method: 'POST', headers: { ...headers, 'content-length': body.length } }
    return inTurn(atOnce, async () => {
      const request = http.request(url, options)
      request.end(body)
      const [response] = await once(request, 'response')
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      requireOk(response.statusCode)
      return text
    })
  },

  async fetch(url, request, atOnce) {
    return inTurn(atOnce, async () => {
      const response = await fetch(url, { ...request, method: 'POST' })
      await response.text()
      requireOk(response.status)
    })
  },
}

function requireOk(status) {
  if (status !== 200) throw new Error(`it was answered with ${status}`)
}
