import { describe, expect, it } from 'vitest'
import { post, start } from '../support.ts'
import { get, SETTINGS_FIELDS } from './support.ts'

const SETTINGS = '/services/webhooks/settings'

describe('settings', () => {
  const DEFAULTS = {
    notificationAttempts: 3,
    notificationTimeOutInSeconds: 10,
    notificationElapsedTimeInSeconds: 5,
    numberOfFailures: 5,
    daysInPast: 5,
  }

  it('a request without parameters reads the settings, and one with parameters changes them', async () => {
    const service = await start(undefined, { settings: {} })
    const read = { ...DEFAULTS }
    expect((await get(service.url + SETTINGS)).text).toBe(JSON.stringify(read))
    expect((await post(service, SETTINGS, { x: '1', numberOfFailures: '' })).body).toEqual(read)
    const { text } = await post(service, SETTINGS, { notificationAttempts: '1', daysInPast: '365' })
    const after = { ...DEFAULTS, notificationAttempts: 1, daysInPast: 365 }
    expect(text).toBe(JSON.stringify({ ...after, status: 'success' }))
    expect((await get(service.url + SETTINGS)).text).toBe(JSON.stringify(after))
    expect(service.snapshot().settings).toEqual(after)
  })

  const BOUNDS: [name: string, minimum: number, maximum: number][] = [
    ['notificationAttempts', 1, 5],
    ['notificationTimeOutInSeconds', 1, 60],
    ['notificationElapsedTimeInSeconds', 0, 3600],
    ['numberOfFailures', 1, 1000],
    ['daysInPast', 1, 365],
  ]

  it.each(BOUNDS)('%s must be between %i and %i', async (name, minimum, maximum) => {
    const service = await start()
    for (const value of [minimum, maximum]) {
      const { status, body } = await post(service, SETTINGS, { [name]: String(value) })
      expect([status, body[name]]).toEqual([200, value])
    }
    const before = service.snapshot()
    const other = name === 'daysInPast' ? 'numberOfFailures' : 'daysInPast'
    for (const value of [minimum - 1, maximum + 1, '1.5', '1e0', '0x1', ' 1', '１', 'NaN', '9'.repeat(400)]) {
      const { status, body } = await post(service, SETTINGS, { [other]: '7', [name]: String(value) })
      expect([status, body.messages]).toEqual([
        400,
        [`${name} must be a whole number from ${minimum} to ${maximum}`],
      ])
      expect(service.snapshot()).toEqual(before)
    }
  })

  it('refuses a repeated setting, and a change by GET', async () => {
    const service = await start(undefined, { settings: {} })
    const twice = await post(service, SETTINGS, [
      ['daysInPast', '1'],
      ['daysInPast', '2'],
    ])
    expect([twice.status, twice.body.messages]).toEqual([400, ['daysInPast is given more than once']])
    const got = await get(`${service.url}${SETTINGS}?daysInPast=2`)
    expect([got.status, JSON.parse(got.text).messages]).toEqual([400, ['use POST to change settings']])
    expect(service.snapshot().settings).toEqual(DEFAULTS)
    expect(Object.keys(DEFAULTS)).toEqual(SETTINGS_FIELDS.map(([name]) => name))
  })
})

it('hosted settings are texts, and their timeout is the pause between two attempts', async () => {
  const service = await start(undefined, { like: 'online', settings: {} })
  const path = '/rest/admin/WebHooks/webhookSettings'
  const before = { notificationAttempts: '1', notificationTimeOutInSeconds: '10', numberOfFailures: '5' }
  expect((await post(service, path, {})).body).toEqual([before])
  const { body } = await post(service, path.toLowerCase(), {
    notificationTimeOutInSeconds: '3',
    numberOfFailures: '10',
  })
  expect(body).toEqual([{ ...before, notificationTimeOutInSeconds: '3', numberOfFailures: '10' }])
  expect(service.settings).toMatchObject({
    notificationTimeOutInSeconds: 10,
    notificationElapsedTimeInSeconds: 3,
    numberOfFailures: 10,
  })
  for (const [name, value] of [
    ['notificationAttempts', '6'],
    ['notificationTimeOutInSeconds', '0'],
    ['notificationTimeOutInSeconds', '11'],
    ['numberOfFailures', '11'],
  ] as const)
    expect((await post(service, path, { [name]: value })).body).toMatchObject({ error: { code: 400 } })
})
