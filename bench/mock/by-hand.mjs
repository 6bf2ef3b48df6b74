import { hash, randomUUID } from 'node:crypto'
import { KEY } from '../lib/payloads.mjs'

/** Number of deliveries to keep. The mock service keeps the same number. */
const KEPT = 1000
const TIMEOUT_MS = 10_000

/**
 * Does the work of a delivery in as little code as possible: writes and signs a payload, applies a request timeout,
 * and keeps the request with its response. For speed, it uses `crypto.hash` for the signature, one batch of requests
 * per event loop tick, and a ring buffer of deliveries.
 *
 * @param {import('undici').Pool} pool
 * @param {string} hookUrl
 */
export function deliverByHand(pool, hookUrl) {
  const sign = createSign(KEY)
  const { pathname: path } = new URL(hookUrl)
  const service = 'https://server.example/server/rest/services/Parcels/FeatureServer'
  const kept = new Array(KEPT)
  let count = 0
  let generation = Date.now()
  let waiting = []

  function write() {
    const now = Date.now()
    const payload = {
      serviceType: 'FeatureServer',
      changesUrl: `${service}/extractChanges?serverGens=%5B${generation},${++generation}%5D`,
      name: 'bench',
      id: 'w',
      folderName: '',
      serviceName: 'Parcels',
      events: [{ eventType: 'FeaturesCreated', when: now }],
    }
    const body = Buffer.from(JSON.stringify(payload))
    const headers = { 'content-type': 'application/json', 'x-service': sign(body) }
    return {
      id: randomUUID(),
      hookUrl,
      sentAt: now,
      request: { method: 'POST', headers, body },
      answer: undefined,
    }
  }

  function send({ delivery, resolve, reject }) {
    const timer = setTimeout(() => reject(new Error('no answer')), TIMEOUT_MS)
    const chunks = []
    const { headers, body } = delivery.request
    pool.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, status, headers) {
          delivery.answer = { status, headers, body: '' }
        },
        onResponseData: (_controller, chunk) => chunks.push(chunk),
        onResponseEnd() {
          clearTimeout(timer)
          delivery.answer.body = Buffer.concat(chunks).toString()
          resolve(delivery.answer)
        },
        onResponseError: (_controller, error) => reject(error),
      },
    )
  }

  function sendAll() {
    const all = waiting
    waiting = []
    for (const one of all) send(one)
  }

  return () =>
    new Promise((resolve, reject) => {
      const delivery = write()
      kept[count++ % KEPT] = delivery
      if (waiting.push({ delivery, resolve, reject }) === 1) setImmediate(sendAll)
    })
}

/** Computes HMAC-SHA256 as RFC 2104 defines it, for a key no longer than one block. */
function createSign(key) {
  const [inner, outer] = [Buffer.alloc(64 + 1024), Buffer.alloc(64 + 32)]
  for (let index = 0; index < 64; index++) {
    const byte = key.charCodeAt(index) || 0
    inner[index] = byte ^ 0x36
    outer[index] = byte ^ 0x5c
  }
  return (body) => {
    inner.set(body, 64)
    outer.write(hash('sha256', inner.subarray(0, 64 + body.length), 'binary'), 64, 'latin1')
    return hash('sha256', outer, 'hex')
  }
}
