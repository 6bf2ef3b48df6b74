import { createReceiver, parsePayload } from 'geohook'
import { createChanges } from 'geohook/changes'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { deliver, KEY, payloadOf } from '../helpers/deliver.ts'
import { unusedUrl } from '../helpers/target.ts'
import { warningsOf } from '../helpers/warnings.ts'

const SECRET = 'secret-4711'

it('a dead letter and a log line name code and address behind "fetch failed", and no secret', async () => {
  const url = await unusedUrl()
  const inbox = createMemoryInbox({ attempts: 1, observer: { dead() {} } })
  const onDelivery = () => fetch(`${url}/?token=${SECRET}`, { headers: { authorization: SECRET } })
  const receiver = createReceiver({ signatureKey: KEY, inbox }).on('*', onDelivery)
  await deliver(receiver, payloadOf('A'))
  const workers = inbox.work(receiver)
  await until(async () => (await inbox.stats()).dead === 1)
  await workers.close()
  const { entries } = await inbox.list({ state: 'dead' })
  await inbox.close()
  const text = `TypeError: fetch failed (ECONNREFUSED ${new URL(url).host})`
  expect(entries.map(({ error }) => error)).toEqual([text])

  const direct = createReceiver({ signatureKey: KEY }).on('*', onDelivery)
  const lines = await warningsOf(() => deliver(direct, payloadOf('A')))
  expect(lines).toEqual([expect.stringContaining(`Handler failed: ${text}. `)])
})

it('a token that cannot be fetched names code and address', async () => {
  const url = await unusedUrl()
  const changes = createChanges({ token: async () => (await fetch(url)).text(), origins: [url] })
  const changesUrl = `${url}/rest/services/P/FeatureServer/extractChanges?serverGens=[1,2]`
  const body = JSON.stringify({ serviceType: 'FeatureServer', serviceName: 'P', changesUrl, events: ['A'] })
  const parsed = parsePayload({ body, contentType: 'application/json' })
  const error = await changes.of(parsed.ok ? parsed.events : []).catch((thrown) => thrown)
  expect(error.message).toBe(`no token: fetch failed (ECONNREFUSED ${new URL(url).host})`)
})

const refused = Object.assign(new Error(SECRET), { code: 'ECONNREFUSED', address: '::1', port: 80 })
const failed = (cause: unknown) => new TypeError('fetch failed', { cause })

it.each([
  [
    'each address of a host name',
    failed(new AggregateError([refused, Object.assign(new Error(), { code: 'ETIMEDOUT' })])),
    ' (ECONNREFUSED ::1:80, ETIMEDOUT)',
  ],
  [
    'a name that does not exist',
    failed({ __proto__: Error.prototype, message: SECRET, code: 'ENOTFOUND', hostname: 'a.example' }),
    ' (ENOTFOUND a.example)',
  ],
  [
    'the end of a connection',
    failed(
      Object.assign(new Error('other side closed'), {
        code: 'UND_ERR_SOCKET',
        socket: { remoteAddress: '127.0.0.1', remotePort: 9 },
      }),
    ),
    ' (UND_ERR_SOCKET 127.0.0.1:9)',
  ],
  ['a cause of a cause', failed(new Error(SECRET, { cause: refused })), ' (ECONNREFUSED ::1:80)'],
  [
    'only codes and addresses',
    failed(Object.assign(new Error(SECRET), { code: `key ${SECRET}`, address: `a ${SECRET}` })),
    '',
  ],
  [
    'nothing of a getter that throws',
    failed(
      Object.defineProperty(new Error(SECRET), 'code', {
        get: () => {
          throw new Error(SECRET)
        },
      }),
    ),
    '',
  ],
  [
    'at most five of 10,000',
    failed(
      new AggregateError(
        Array.from({ length: 10_000 }, (_, index) =>
          Object.assign(new Error(), { code: 'EPIPE', address: 'a', port: index + 1 }),
        ),
      ),
    ),
    ' (EPIPE a:1, EPIPE a:2, EPIPE a:3, EPIPE a:4, EPIPE a:5)',
  ],
])('a log line has %s', async (_, error, causes) => {
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => Promise.reject(error))
  const [line] = await warningsOf(() => deliver(receiver, payloadOf('A')))
  expect(line).toContain(`Handler failed: TypeError: fetch failed${causes}. `)
  expect(line).not.toContain(SECRET)
})

it('a cyclic chain of causes ends', async () => {
  const error: Error = failed(refused)
  refused.cause = error
  const receiver = createReceiver({ signatureKey: KEY }).on('*', () => Promise.reject(error))
  const [line] = await warningsOf(() => deliver(receiver, payloadOf('A')))
  expect(line).toContain('fetch failed (ECONNREFUSED ::1:80). ')
})
