import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createMock } from './senders.mjs'

/** Checks that none of many concurrent deliveries is lost or duplicated, and that the concurrency limit holds. */
export async function requireOnce(count, concurrency) {
  const seen = new Map()
  let [onWire, most] = [0, 0]
  const receiver = createServer(async (req, res) => {
    most = Math.max(most, ++onWire)
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const { when } = JSON.parse(Buffer.concat(chunks)).events[0]
    seen.set(when, (seen.get(when) ?? 0) + 1)
    await setTimeout(2) // leaves time for concurrent requests to arrive
    onWire -= 1
    res.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const service = createMock(`http://127.0.0.1:${receiver.address().port}/hook`, concurrency)
  const event = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }
  await Promise.all(Array.from({ length: count }, (_, when) => service.trigger({ ...event, when })))
  await service.close()
  receiver.close()
  const doubled = [...seen.values()].filter((times) => times > 1).length
  assert.deepEqual({ received: seen.size, doubled }, { received: count, doubled: 0 })
  assert.ok(most <= concurrency, `${most} were on the wire at once`)
  return {
    title: 'mock: whether each delivery arrives once',
    columns: ['deliveries', 'lost', 'doubled', 'at once, at most'],
    rows: [[String(count), '0', '0', `${most} of ${concurrency}`]],
  }
}
