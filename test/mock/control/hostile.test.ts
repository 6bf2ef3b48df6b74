import { connect } from 'node:net'
import express from 'express'
import { createMockService, type MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { raw, send } from '../../helpers/http.ts'
import { listen } from '../../helpers/mounts/mounted.ts'
import { FEATURE, seed, start } from '../support.ts'
import { call } from './support.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const CREATED = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

/** Checks that a function does not change the state of the service. */
async function unchanged(service: MockService, act: () => Promise<void>): Promise<void> {
  const before = service.snapshot()
  await act()
  expect(service.snapshot()).toEqual(before)
}

it.each(['http://a:99999', 'http://[', 'http://%zz'])('ignores the host in the URL %s', async (site) => {
  const service = await start()
  const { host } = new URL(service.url)
  for (const path of ['/_mock/deliveries?limit=1', '/_mock/snapshot', '/_mock/openapi.json']) {
    const answer = await raw(
      service.url,
      `GET ${site}${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 (200|400|404) /)
  }
})

describe('a missing body', () => {
  it.each(['/restore', '/trigger', '/faults', '/settings'])('POST %s is refused', async (path) => {
    const service = await start()
    await unchanged(service, async () => {
      const { status, body } = await call(service, 'POST', path)
      expect([status, body.messages]).toEqual([400, ['a body of JSON is required']])
    })
  })

  it.each(['/restore', '/settings'])('POST %s behind a body parser explains what to do', async (path) => {
    const service = createMockService({ webhooks: [seed(FEATURE)] })
    const app = await listen(express().use(express.json()).use(service.app))
    await unchanged(service, async () => {
      const url = new URL(`/_mock${path}`, app.url)
      const answer = await send(url.href, { headers: JSON_TYPE, body: '{"settings":{"daysInPast":7}}' })
      expect([answer.status, JSON.parse(answer.text).messages[0]]).toEqual([
        500,
        'something read the body before the mock service; mount the mock service first',
      ])
    })
    await app.close()
    await service.close()
  })
})

describe('large invalid bodies', () => {
  it.each<[string, string, string]>([
    ['a list of what are no webhooks', '/restore', `{"webhooks":[${'1,'.repeat(1_000_000)}1]}`],
    [
      'members that there are not',
      '/restore',
      `{${Array.from({ length: 100_000 }, (_, index) => `"m${index}":1`).join()}}`,
    ],
    ['a list of what are no events', '/trigger', `{"events":[${'1,'.repeat(400_000)}1]}`],
    ['a name without end', '/faults', `{"${'x'.repeat(900_000)}":1}`],
  ])('refuses %s with a short response', async (_, path, body) => {
    const service = await start()
    await unchanged(service, async () => {
      const answer = await send(`${service.url}/_mock${path}`, { headers: JSON_TYPE, body })
      expect([answer.status, answer.text.length < 1000]).toEqual([400, true])
    })
  })

  it('returns 413 for a body over the limit', async () => {
    const service = await start()
    const body = JSON.stringify({ fault: 'x'.repeat(1_100_000) })
    const answer = await send(`${service.url}/_mock/faults`, { headers: JSON_TYPE, body })
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 413])
  })

  it('sends many events for many webhooks in one delivery for each webhook', async () => {
    const webhooks = Array.from({ length: 100 }, (_, index) =>
      seed(FEATURE, { id: `w${index}`, name: `w${index}`, hookUrl: 'http://10.0.0.1/' }),
    )
    const service = await start(webhooks)
    const events = Array.from({ length: 300 }, () => CREATED)
    const { status, body } = await call(service, 'POST', '/trigger', { events })
    expect([status, body.deliveries.length]).toEqual([200, 100])
  })

  it('refuses too many changes in one request', async () => {
    const service = await start()
    const layerIds = Array.from({ length: 101 }, (_, index) => index)
    const events = Array.from({ length: 100 }, () => ({ ...CREATED, layerIds }))
    const { status, body } = await call(service, 'POST', '/trigger', { events })
    expect([status, body.messages]).toEqual([400, ['at most 10000 changes can be triggered together']])
  })
})

describe('pages of other origins', () => {
  it.each<[string, Record<string, string>, number]>([
    ['of another origin', { origin: 'https://evil.example' }, 403],
    ['without an origin', { origin: 'null' }, 403],
    ['embedded elsewhere', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 403],
    ['linked from elsewhere', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 200],
    ['of its own', { 'sec-fetch-site': 'same-origin' }, 200],
  ])('%s: %j, %i', async (_, headers, status) => {
    const service = await start()
    for (const path of ['/_mock/snapshot', '/services/Parcels.FeatureServer/webhooks']) {
      expect((await send(service.url + path, { method: 'GET', headers })).status).toBe(status)
    }
  })

  it('are refused before their body is read', async () => {
    const service = await start()
    const { hostname, port } = new URL(service.url)
    for (const path of ['/_mock/restore', '/services/Parcels.FeatureServer/webhooks/create', '/nothing']) {
      const socket = connect(Number(port), hostname)
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\norigin: https://evil.example\r\n` +
          'content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{',
      )
      const [answer] = await new Promise<[Buffer]>((resolve) =>
        socket.once('data', (data) => resolve([data])),
      )
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 403 /)
      socket.destroy()
    }
  })
})

it('a HEAD request for the event stream ends', async () => {
  const service = await start()
  const { host } = new URL(service.url)
  const head = `HEAD /_mock/events HTTP/1.1\r\nhost: ${host}\r\n\r\n`
  const answers = await raw(
    service.url,
    `${head}GET /_mock/faults HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
  )
  expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
})

it('responses of the control API must not be cached', async () => {
  const service = await start()
  const { headers } = await call(service, 'GET', '/snapshot')
  expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
    'no-store',
    'nosniff',
  ])
})
