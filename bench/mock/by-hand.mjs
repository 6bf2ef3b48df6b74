import { createHmac, createSecretKey, randomUUID } from 'node:crypto'
import { KEY } from '../lib/payloads.mjs'

/** As many as the mock service keeps. */
const KEPT = 1000
/** Milliseconds. */
const TIME_OUT = 10_000

/**
 * What each delivery takes beside the request itself: a payload of its own is written and signed, has so long, and is
 * kept with its answer. As little code as does it.
 *
 * @param {import('undici').Pool} pool
 * @param {string} hookUrl
 */
export function deliverByHand(pool, hookUrl) {
  const key = createSecretKey(Buffer.from(KEY))
  const { pathname: path } = new URL(hookUrl)
  const service = 'https://server.example/server/rest/services/Parcels/FeatureServer'
  const kept = []
  let generation = Date.now()

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
    const signature = createHmac('sha256', key).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-service': signature }
    return {
      id: randomUUID(),
      hookUrl,
      sentAt: now,
      request: { method: 'POST', headers, body },
      answer: undefined,
    }
  }

  return () =>
    new Promise((resolve, reject) => {
      const delivery = write()
      kept.push(delivery)
      if (kept.length > KEPT) kept.shift()
      const timer = setTimeout(() => reject(new Error('no answer')), TIME_OUT)
      const chunks = []
      pool.dispatch(
        { method: 'POST', path, headers: delivery.request.headers, body: delivery.request.body },
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
    })
}
