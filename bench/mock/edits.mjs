import assert from 'node:assert/strict'
import { Agent, request } from 'undici'
import { createMockService } from '../../dist/mock.js'
import { number, scale, spread, times } from '../lib/format.mjs'
import { interleave, ratio, summarize } from '../lib/rounds.mjs'

const SIZES = [10, 1_000, 100_000]
/** Edits or deletions in one measurement. */
const CALLS = 25

const webhook = (index) => ({
  id: `w${index}`,
  name: `webhook ${index}`,
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  hookUrl: 'http://127.0.0.1:9/hook',
  signatureKey: 'bench',
})
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

/** Each function returns the mean milliseconds of one call. */
const MEASURES = {
  async edit(service, round) {
    const started = performance.now()
    for (let index = 0; index < CALLS; index++)
      await post(service, `w${index % 10}/edit`, {
        name: `webhook ${index % 10}`,
        changeTypes: '*',
        hookUrl: `http://127.0.0.1:9/${round}`,
      })
    return (performance.now() - started) / CALLS
  },
  async delete(service) {
    const ids = []
    for (let index = 0; index < CALLS; index++) {
      const form = { name: `extra ${index}`, hookUrl: 'http://127.0.0.1:9/x' }
      ids.push((await post(service, 'create', form)).id)
    }
    const started = performance.now()
    for (const id of ids) await post(service, `${id}/delete`, {})
    return (performance.now() - started) / CALLS
  },
}

/** Measures how long it takes to edit and to delete a webhook over HTTP, on mocks with few and with many webhooks. */
export async function measureEdits({ smoke }) {
  const subjects = []
  for (const size of SIZES) {
    const service = createMockService({
      webhooks: Array.from({ length: size }, (_, index) => webhook(index)),
    })
    await service.listen()
    subjects.push({ size, service })
  }
  const [rows, points] = [[], []]
  for (const [name, measure] of Object.entries(MEASURES)) {
    const measured = await interleave(subjects, {
      rounds: smoke ? 1 : 31,
      seconds: 3,
      warmup: smoke ? 0 : 5,
      measure: ({ service }, round) => measure(service, round),
    })
    const base = measured.get(subjects[0])
    for (const subject of subjects) {
      const figures = measured.get(subject)
      const time = scale(summarize(figures), 1000)
      rows.push([name, number(subject.size), spread(time), times(ratio(figures, base))])
      points.push({ series: name, x: subject.size, y: time.median, low: time.low, high: time.high })
    }
  }
  for (const { service } of subjects) await service.close()
  await dispatcher.close()
  return {
    table: {
      title: 'mock: microseconds of one edit and of one deletion, over HTTP',
      columns: ['', 'webhooks', 'µs', `vs ${SIZES[0]}`],
      rows,
    },
    points,
  }
}
