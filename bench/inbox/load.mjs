import assert from 'node:assert/strict'
import { createSigner } from '../../dist/testing.js'

export const KEY = 'bench'
const BYTES = 1024
const signer = createSigner({ signatureKey: KEY })
let count = 0

/** Creates a unique signed delivery of about 1 KiB, whose body is bytes. */
async function sign() {
  const event = { eventType: 'FeaturesCreated', when: 1_700_000_000_000 + count++ }
  const payload = { serviceName: 'Parcels', events: [event], pad: '' }
  payload.pad = 'x'.repeat(BYTES - JSON.stringify(payload).length)
  const { method, headers, bytes } = await signer.sign(payload)
  return { method, headers, body: bytes }
}

/** Sends `total` deliveries over `concurrency` connections. Returns deliveries per second and response times. */
export async function accept(subject, total, concurrency) {
  const requests = await Promise.all(Array.from({ length: total }, sign))
  const pool = subject.connections(concurrency)
  const status = subject.hasInbox ? 202 : 200
  const times = []

  async function sendAll() {
    for (let request = requests.pop(); request; request = requests.pop()) {
      const started = performance.now()
      const { statusCode, body } = await pool.request({ path: '/', ...request })
      await body.dump()
      times.push(performance.now() - started)
      assert.equal(statusCode, status, `${subject.name} returned ${statusCode}`)
    }
  }

  const started = performance.now()
  await Promise.all(Array.from({ length: concurrency }, sendAll))
  const rate = (total / (performance.now() - started)) * 1000
  subject.accepted += total
  times.sort((a, b) => a - b)
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))]
  return { rate, p50: at(0.5), p99: at(0.99) }
}
