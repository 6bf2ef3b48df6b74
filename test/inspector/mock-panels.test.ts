import { createManualClock, createRunningClock, type MockService, type Webhook } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { capture, FEATURE, NOWHERE } from '../mock/support.ts'
import { CREATED, mock, open, PARCELS, receiver, submit } from './helpers/mock-support.ts'

const webhookOf = (service: MockService, id = FEATURE.id): Webhook | undefined =>
  service.snapshot().webhooks.find((webhook) => webhook.id === id)

const DAILY = {
  name: '',
  state: 'enabled',
  startAt: 1_600_000_000_000,
  recurrenceInfo: { interval: 1, frequency: 'day' },
} as const

describe('the panel of services', () => {
  it('shows each webhook with its key, schedule, failures and open window', async () => {
    const clock = createManualClock(DAILY.startAt + 22 * 3_600_000)
    const service = await mock(
      NOWHERE,
      { scheduleInfo: DAILY, changeTypes: ['FeaturesCreated', 'FeaturesDeleted'] },
      { clock, like: { window: { webhooks: 'scheduled' } } },
    )
    const attempts = service.trigger([CREATED, CREATED])
    const { text } = await open(service, '/webhooks')
    expect(text).toContain(`<h3>${PARCELS}</h3>`)
    expect(text).toContain(`<h4>${FEATURE.name} <span class="outcome good">active</span></h4>`)
    for (const fact of [
      ['Change types', 'FeaturesCreated, FeaturesDeleted'],
      ['URL', NOWHERE],
      ['Key', 'set'],
      ['Schedule', 'every day from 2020-09-13T12:26:40.000Z'],
      ['Window', '2 events gathered; closes in 2 h'],
    ])
      expect(text).toContain(`<dt>${fact[0]}</dt><dd>${fact[1]}</dd>`)
    await clock.advance(3 * 3_600_000)
    await attempts
    const later = await open(service, '/webhooks')
    expect(later.text).not.toContain('gathered')
    expect(later.text).toContain('<dt>Failures</dt><dd>1 counted</dd>')
    expect((await open(service)).text).toContain('Services <span>2 webhooks</span>')
  })

  it('creates a webhook, with the rules and errors of the administration', async () => {
    const saved: number[] = []
    const service = await mock(
      NOWHERE,
      {},
      {
        save: async ({ webhooks }) => void saved.push(webhooks.length),
      },
    )
    const values = {
      entry: PARCELS,
      name: 'new',
      hookUrl: NOWHERE,
      changeTypes: 'FeaturesCreated, FeaturesUpdated',
    }
    const { text, path } = await submit(service, '/webhooks/create', { ...values, signatureKey: 'a new key' })
    expect([path, text]).toEqual(['/webhooks', expect.stringContaining('The webhook new is created.')])
    expect(service.snapshot().webhooks.at(-1)).toMatchObject({
      name: 'new',
      signatureKey: 'a new key',
      changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
      ownerId: 'admin',
    })
    expect(saved.at(-1)).toBe(3)
    const again = await submit(service, '/webhooks/create', { ...values, signatureKey: 'typed key' })
    expect([again.status, again.text]).toEqual([
      400,
      expect.stringContaining('name is taken by another webhook of this service'),
    ])
    expect(again.text).toContain('value="FeaturesCreated, FeaturesUpdated"')
    expect(again.text).not.toContain('typed key')
    expect((await submit(service, '/webhooks/create', { ...values, entry: 'None.GPServer' })).status).toBe(
      404,
    )
  })

  it.each(['keep', 'reset'] as const)('edits, deactivates and activates (omitted: %s)', async (omitted) => {
    const changes = { scheduleInfo: DAILY, payloadFormat: 'pjson' } as const
    const service = await mock(NOWHERE, changes, { like: { omitted } })
    const before = webhookOf(service)
    const modified = { modified: expect.any(Number), modifiedId: 'admin' }
    const off = await submit(service, '/webhooks/deactivate', { entry: FEATURE.id })
    expect(off.text).toContain(`${FEATURE.name} is deactivated.`)
    expect(webhookOf(service)).toEqual({ ...before, active: false, ...modified })
    expect((await submit(service, '/webhooks/deactivate', { entry: FEATURE.id })).status).toBe(409)
    await submit(service, '/webhooks/activate', { entry: FEATURE.id })
    expect(webhookOf(service)).toEqual({ ...before, ...modified })
    const edited = { name: 'renamed', hookUrl: NOWHERE, changeTypes: '*', entry: FEATURE.id }
    expect((await submit(service, '/webhooks/edit', edited)).text).toContain('The webhook renamed is edited.')
    expect(webhookOf(service)).toMatchObject({ name: 'renamed', signatureKey: omitted === 'keep' ? KEY : '' })
    expect((await open(service, `/webhooks/edit?entry=${FEATURE.id}`)).text).toContain('value="renamed"')
  })

  it('asks before it deletes', async () => {
    const service = await mock(NOWHERE)
    const { text } = await open(service, `/webhooks/delete?entry=${FEATURE.id}`)
    expect(text).toContain(`Delete the webhook ${FEATURE.name}? It cannot be restored.`)
    expect(webhookOf(service)).toBeDefined()
    expect((await submit(service, '/webhooks/delete', { entry: FEATURE.id })).text).toContain('is deleted.')
    expect(webhookOf(service)).toBeUndefined()
    expect((await open(service, `/webhooks/delete?entry=${FEATURE.id}`)).status).toBe(404)
  })

  it('says so if a change could not be saved', async () => {
    const service = await mock(NOWHERE, {}, { save: () => Promise.reject(new Error('disk full')) })
    const { text } = await submit(service, '/webhooks/delete', { entry: FEATURE.id })
    expect(text).toContain('the change is made, but the state could not be saved')
    expect(text).toContain('class="notice bad"')
  })
})

describe('events of a service', () => {
  it('triggers an event, and says how many webhooks get it', async () => {
    const { url, requests } = await capture()
    const service = await mock(url)
    const form = await open(service, '/webhooks/trigger?entry=Buffer.GPServer')
    expect(form.text).toContain('<option value="esriJobFailed">')
    const ended = new Promise((resolve) =>
      service.on((notice) => notice.type === 'attempt' && resolve(notice)),
    )
    const { text } = await submit(service, '/webhooks/trigger', {
      entry: 'Buffer.GPServer',
      changeType: 'esriJobFailed',
      jobId: 'j-1',
      taskName: 'Clip',
    })
    expect(text).toContain('esriJobFailed: triggered for 1 webhook.')
    await ended
    expect(JSON.parse(String(requests[0]?.body))).toMatchObject({
      jobId: 'j-1',
      events: [{ eventType: 'esriJobFailed' }],
    })
  })

  it('does not wait for windows, and counts webhooks that gather or drop the event', async () => {
    const service = await mock(
      NOWHERE,
      { scheduleInfo: DAILY },
      { like: { window: { webhooks: 'scheduled' } } },
    )
    const values = { entry: PARCELS, changeType: 'FeaturesCreated', layerIds: '0, 3' }
    expect((await submit(service, '/webhooks/trigger', values)).text).toContain(
      'FeaturesCreated: gathered for 1 webhook until the window closes.',
    )
    const dropping = await mock(
      NOWHERE,
      { scheduleInfo: { ...DAILY, state: 'disabled' } },
      { like: { window: { webhooks: 'scheduled' } } },
    )
    expect((await submit(dropping, '/webhooks/trigger', values)).text).toContain('dropped for 1 webhook')
    const none = await mock(NOWHERE, { changeTypes: ['FeaturesDeleted'] })
    expect((await submit(none, '/webhooks/trigger', values)).text).toContain('No active webhook of Parcels')
  })

  it.each([
    [{ changeType: 'esriJobFailed' }, 'Parcels is a feature service'],
    [{ changeType: '*' }, '* is for subscriptions'],
    [{ layerIds: '1,x' }, 'layerIds must be whole numbers'],
  ])('refuses %j, and keeps the input', async (wrong, message) => {
    const service = await mock(NOWHERE)
    const values = { entry: PARCELS, changeType: 'FeaturesCreated', taskName: 'typed', ...wrong }
    const { status, text } = await submit(service, '/webhooks/trigger', values)
    expect([status, text]).toEqual([400, expect.stringContaining(message)])
    expect(text).toContain('name="taskName" value="typed"')
  })
})

describe('the panel of faults', () => {
  it('arms, shows and removes faults', async () => {
    const service = await mock(await receiver())
    const armed = await submit(service, '/faults/arm', {
      fault: 'slow_drip',
      webhook: FEATURE.id,
      times: '2',
      delay: '7',
    })
    expect(armed.text).toContain('The fault slow_drip is armed for the next 2 deliveries.')
    expect(armed.text).toContain(`<td>${FEATURE.name} of ${PARCELS}</td><td>2 deliveries</td><td>7 ms</td>`)
    expect(service.faults.list()).toMatchObject([
      { fault: 'slow_drip', webhookId: FEATURE.id, times: 2, delay: 7 },
    ])
    const forever = await submit(service, '/faults/arm', {
      fault: 'altered',
      webhook: '',
      times: '',
      delay: '',
    })
    expect(forever.text).toContain('The fault altered is armed for all deliveries.')
    expect((await open(service)).text).toContain('Faults <span>2 armed</span>')
    const [{ id = '' } = {}] = service.faults.list()
    expect((await submit(service, '/faults/remove', { entry: id })).text).toContain('The fault is removed.')
    expect((await submit(service, '/faults/remove', { entry: id })).text).toContain('already removed')
    expect((await open(service, '/faults/clear')).text).toContain('Remove all armed faults?')
    expect(service.faults.list()).toHaveLength(1)
    expect((await submit(service, '/faults/clear')).text).toContain('All faults are removed.')
    expect(service.faults.list()).toEqual([])
  })

  it.each([
    [{ fault: 'nonsense' }, 'fault.fault'],
    [{ times: '0' }, 'fault.times'],
    [{ delay: 'soon' }, 'delay must be a whole number'],
  ])('refuses %j, and keeps the input', async (wrong, message) => {
    const service = await mock(NOWHERE)
    const { status, text } = await submit(service, '/faults/arm', { fault: 'altered', times: '3', ...wrong })
    expect([status, text]).toEqual([400, expect.stringContaining(message)])
    expect(service.faults.list()).toEqual([])
  })
})

describe('the panel of settings', () => {
  it('changes them with the rules of the administration', async () => {
    const service = await mock(NOWHERE)
    const changed = await submit(service, '/settings/change', { notificationAttempts: '4' })
    expect(changed.text).toContain('The settings are changed.')
    expect(service.settings.notificationAttempts).toBe(4)
    const wrong = await submit(service, '/settings/change', { notificationAttempts: '9' })
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('a whole number from 1 to 5')])
    expect(wrong.text).toContain('name="notificationAttempts" value="9"')
  })

  it('does not exist in version 11.1', async () => {
    expect((await open(await mock(NOWHERE, {}, { version: '11.1' }), '/settings')).status).toBe(404)
  })
})

describe('the panel of the clock', () => {
  it('advances the clock: a window closes, and its delivery appears', async () => {
    const { url, requests } = await capture()
    const clock = createRunningClock()
    const service = await mock(
      url,
      { scheduleInfo: DAILY },
      { clock, like: { window: { webhooks: 'scheduled' } } },
    )
    const attempts = service.trigger(CREATED)
    const before = clock.now()
    const { text } = await submit(service, '/clock/advance', { seconds: '86400' })
    expect(text).toMatch(/The clock shows \d{4}-\d\d-\d\dT/)
    expect(clock.now() - before).toBeGreaterThanOrEqual(86_400_000)
    await attempts
    expect(requests).toHaveLength(1)
  })

  it.each(['', 'soon', '1.5', '-5', '40000000', '99999999999999'])(
    'refuses to advance "%s" seconds',
    async (seconds) => {
      const service = await mock(NOWHERE, {}, { clock: createManualClock() })
      const { status, text } = await submit(service, '/clock/advance', { seconds })
      expect([status, text]).toEqual([400, expect.stringContaining('seconds must be a whole number')])
    },
  )

  it('is missing if the clock cannot be advanced', async () => {
    const clock = { now: Date.now, wait: async () => {} }
    const { text } = await open(await mock(NOWHERE, {}, { clock }))
    expect(text).not.toContain('href="/clock"')
    expect(text).toContain('href="/faults"')
  })
})
