// Measures the mock service: the cost of edit and delete with 10 and with 10,000 webhooks, interleaved in one run, and
// 1,000 deliveries at concurrency 50. Ratios and counts; it fails where a ratio is too high or a delivery is lost.
//
//   npm run bench:mock
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { createMockService } from '../dist/mock.js'

const ROUNDS = 40
const EDITS = 25
const LIMIT = 1.5

const webhook = (index) => ({
  id: `w${index}`,
  name: `webhook ${index}`,
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  hookUrl: 'http://127.0.0.1:9/hook',
  signatureKey: 'bench',
})
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1]
const dispatcher = new Agent({ connections: 1 })

async function post(service, path, form) {
  const response = await request(`${service.url}/services/Parcels.FeatureServer/webhooks/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
    dispatcher,
  })
  const body = await response.body.json()
  assert.equal(body.status, 'success', JSON.stringify(body))
  return body
}

/** Milliseconds for some edits, or for some webhooks that are deleted. */
const MEASURES = {
  async edit(service, round) {
    const started = performance.now()
    for (let index = 0; index < EDITS; index++)
      await post(service, `w${index % 10}/edit`, {
        name: `webhook ${index % 10}`,
        changeTypes: '*',
        hookUrl: `http://127.0.0.1:9/${round}`,
      })
    return performance.now() - started
  },
  async delete(service) {
    const ids = []
    for (let index = 0; index < EDITS; index++)
      ids.push(
        (await post(service, 'create', { name: `extra ${index}`, hookUrl: 'http://127.0.0.1:9/x' })).id,
      )
    const started = performance.now()
    for (const id of ids) await post(service, `${id}/delete`, {})
    return performance.now() - started
  },
}

async function measureSizes() {
  const services = []
  for (const count of [10, 10_000]) {
    const service = createMockService({
      webhooks: Array.from({ length: count }, (_, index) => webhook(index)),
    })
    await service.listen()
    services.push(service)
  }
  for (const [name, measure] of Object.entries(MEASURES)) {
    const times = [[], []]
    for (let round = 0; round < ROUNDS + 5; round++) {
      for (const side of round % 2 ? [0, 1] : [1, 0]) {
        const time = await measure(services[side], round)
        if (round >= 5) times[side].push(time / EDITS)
      }
    }
    // Of each round by itself: what else the machine does meanwhile slows both sides.
    const ratio = median(times[1].map((time, round) => time / times[0][round]))
    const [few, many] = times.map(median)
    console.log(
      `${name}: ${(few * 1000).toFixed(0)} µs with 10, ${(many * 1000).toFixed(0)} µs with 10,000 webhooks, ratio ${ratio.toFixed(2)}`,
    )
    assert.ok(ratio < LIMIT, `${name} takes ${ratio.toFixed(2)} times as long with 10,000 webhooks`)
  }
  for (const service of services) await service.close()
}

async function measureDeliveries(count, concurrency) {
  const seen = new Map()
  let [onWire, most] = [0, 0]
  const receiver = createServer(async (req, res) => {
    most = Math.max(most, ++onWire)
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const { when } = JSON.parse(Buffer.concat(chunks)).events[0]
    seen.set(when, (seen.get(when) ?? 0) + 1)
    await setTimeout(2) // so that others come meanwhile
    onWire -= 1
    res.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const hookUrl = `http://127.0.0.1:${receiver.address().port}/hook`
  const service = createMockService({ concurrency, webhooks: [{ ...webhook(0), hookUrl }] })
  const started = performance.now()
  const event = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }
  await Promise.all(Array.from({ length: count }, (_, when) => service.trigger({ ...event, when })))
  const seconds = (performance.now() - started) / 1000
  await service.close()
  receiver.close()
  const doubled = [...seen.values()].filter((times) => times > 1).length
  console.log(
    `deliveries: ${count} at concurrency ${concurrency}, ${count - seen.size} lost, ${doubled} doubled, ` +
      `at most ${most} at once, ${(count / seconds).toFixed(0)} a second`,
  )
  assert.deepEqual([seen.size, doubled], [count, 0])
  assert.ok(most <= concurrency)
}

await measureSizes()
await measureDeliveries(1000, 50)
await dispatcher.close()
