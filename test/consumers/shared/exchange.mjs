import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'

/** The signature key of the receivers in all test projects. */
const signatureKey = 'parcels2026'
const body = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated"}]}'

/** Creates a request, and signs it without using geohook. */
function request(url, key) {
  const signature = createHmac('sha256', key).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-service': signature }
  return new Request(url, { method: 'POST', headers, body })
}

/** Sends a forged delivery, which must be rejected, and then a signed one, which must be handled. */
export async function exchange(received, send = fetch, url = 'http://receiver.example/hook') {
  received.length = 0
  assert.equal((await send(request(url, 'guessed'))).status, 401, 'a forged delivery is rejected')
  assert.deepEqual(received, [], 'a forged delivery reaches no handler')
  assert.equal((await send(request(url, signatureKey))).status, 200, 'a signed delivery is accepted')
  assert.deepEqual(received, ['FeaturesCreated'], 'a signed delivery reaches its handler')
}

/** Calls `exchange` over a socket, and then closes the server. */
export async function exchangeWith(server, received) {
  if (!server.listening) await once(server, 'listening')
  try {
    await exchange(received, fetch, `http://127.0.0.1:${server.address().port}/hook`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}
