import assert from 'node:assert/strict'
import { createSigner } from '../../dist/testing.js'

export const KEY = 'bench'
const BYTES = 1024
const signer = createSigner({ signatureKey: KEY })
let made = 0

/** A signed delivery of about 1 KiB that no other is like. */
function sign() {
  const event = { eventType: 'FeaturesCreated', when: 1_700_000_000_000 + made++ }
  const payload = { serviceName: 'Parcels', events: [event], pad: '' }
  payload.pad = 'x'.repeat(BYTES - JSON.stringify(payload).length)
  return signer.sign(payload)
}

/** Sends so many at a time, each connection one after another; gives deliveries per second and the times of answers. */
export async function accept(subject, count, concurrency) {
  const requests = await Promise.all(Array.from({ length: count }, sign))
  const pool = subject.connections(concurrency)
  const status = subject.hasInbox ? 202 : 200
  const times = []

  async function sendAll() {
    for (let request = requests.pop(); request; request = requests.pop()) {
      const started = performance.now()
      const { statusCode, body } = await pool.request({ path: '/', ...request })
      await body.dump()
      times.push(performance.now() - started)
      assert.equal(statusCode, status, `${subject.name} answered ${statusCode}`)
    }
  }

  const started = performance.now()
  await Promise.all(Array.from({ length: concurrency }, sendAll))
  const rate = (count / (performance.now() - started)) * 1000
  subject.accepted += count
  times.sort((a, b) => a - b)
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))]
  return { rate, p50: at(0.5), p99: at(0.99) }
}
