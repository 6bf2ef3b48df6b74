// Combines a receiver from the ESM build with an adapter from the CommonJS build: both copies must work together.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { createReceiver } from 'geohook'
import { exchangeWith } from './exchange.mjs'

const { webhook } = createRequire(import.meta.url)('geohook/node')
const received = []
const receiver = createReceiver({ signatureKey: 'parcels2026', limit: 100, observer: {} }).on(
  '*',
  (event) => {
    received.push(event.changeType)
  },
)
const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
await once(server, 'listening')

const body = new ReadableStream({
  start(controller) {
    controller.enqueue(new Uint8Array(200))
    controller.close()
  },
})
const { status } = await fetch(`http://127.0.0.1:${server.address().port}`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-service': '0'.repeat(64) },
  body,
  duplex: 'half',
})
assert.equal(status, 413, 'the receiver from ESM recognizes an error from CommonJS')
await exchangeWith(server, received)
