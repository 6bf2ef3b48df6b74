import { createRunningClock } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { KEY, signatureOf } from '../helpers/deliver.ts'
import { CREATED, receiver } from '../inspector/helpers/mock-support.ts'
import { capture, FEATURE } from '../mock/support.ts'
import { openMock } from './helpers/mock-home.ts'
import { expectNoSecrets } from './helpers/secrets.ts'
import { MODES } from './helpers/visit.ts'

const HOURLY = {
  name: '',
  state: 'enabled',
  startAt: 1_600_000_000_000,
  recurrenceInfo: { interval: 1, frequency: 'hour' },
} as const

describe.each(MODES)('the deliveries of a mock, $mode', (mode) => {
  it('an event that a user triggers appears as a delivery', async () => {
    const { service, page, rows, refresh, openPanel, press, notice } = await openMock(mode, await receiver())
    const ended = new Promise((resolve) =>
      service.on((event) => event.type === 'attempt' && event.attempt.answer && resolve(event)),
    )
    await openPanel('Services')
    await page
      .getByRole('region', { name: 'Buffer.GPServer' })
      .getByRole('link', { name: 'Trigger an event' })
      .click()
    await page.getByLabel('Change type').fill('esriJobFailed')
    await page.getByLabel('Job id').fill('job-7')
    await press('button', 'Trigger an event')
    await notice('esriJobFailed: triggered for 1 webhook.')
    await ended
    await refresh()
    await rows.first().getByText('200 delivered').waitFor()
    await rows.first().click()
    await page.locator('.tabs').getByRole('link', { name: 'Events' }).click()
    await page.locator('.events').getByText('job-7', { exact: true }).waitFor()
  })

  it('a window in progress is shown, and closes when the clock is advanced', async () => {
    const { service, page, rows, refresh, openPanel, press, notice } = await openMock(
      mode,
      await receiver(),
      {
        allowed: /status of 400/,
        changes: { scheduleInfo: HOURLY },
        options: { like: { window: { webhooks: 'scheduled' } }, clock: createRunningClock() },
      },
    )
    void service.trigger([CREATED, CREATED])
    await openPanel('Services')
    await page.getByText(/2 events gathered; closes in \d+/).waitFor()
    await page.getByText(/every hour from 2020-09-13T/).waitFor()
    expect(await rows.count()).toBe(0)
    await openPanel('Clock')
    await press('link', 'Advance')
    await page.getByLabel('Seconds').fill('soon')
    await press('button', 'Advance')
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Seconds').inputValue()).toBe('soon')
    await page.getByLabel('Seconds').fill('3600')
    await press('button', 'Advance')
    await notice('The clock shows 2')
    await refresh()
    await rows.first().getByText('200 delivered').waitFor()
    await openPanel('Services')
    await page.getByRole('article', { name: FEATURE.name }).waitFor()
    expect(await page.getByText('gathered').count()).toBe(0)
  })

  it('an armed fault is named on the delivery that the receiver refuses', async () => {
    const { service, page, rows, refresh, openPanel, press, notice } = await openMock(mode, await receiver())
    await openPanel('Faults')
    await press('link', 'Arm a fault')
    await page.getByLabel('Fault').selectOption('wrong_key')
    await page.getByLabel('Number of deliveries').fill('2')
    await press('button', 'Arm a fault')
    await notice('The fault wrong_key is armed for the next 2 deliveries.')
    await page.locator('#panels').getByText('1 armed').waitFor()
    await service.trigger(CREATED)
    await refresh()
    await rows.first().getByText('401 refused').waitFor()
    await page.getByRole('cell', { name: '1 delivery' }).waitFor()
    await page.locator('#panel').getByRole('button', { name: 'Remove' }).click()
    await notice('The fault is removed.')
    expect(service.faults.list()).toEqual([])
    await rows.first().click()
    const why = page.getByRole('region', { name: 'Why' })
    await why.getByText('fault wrong_key', { exact: true }).waitFor()
    expect(await why.textContent()).toMatch(/Evidence.*The mock injected the fault.*Fix/s)
    await service.trigger(CREATED)
    await refresh()
    await rows.first().getByText('200 delivered').waitFor()
  })

  it('a delivery is sent again byte for byte, edited and signed, and sent to another address', async () => {
    const { url, requests } = await capture()
    const other = await capture()
    const verifying = await receiver()
    const { service, page, rows, press, notice } = await openMock(mode, url, { allowed: /status of 400/ })
    await service.trigger(CREATED)
    await page.reload()
    await rows.first().click()
    await press('button', 'Resend')
    await notice('The receiver answered 200.')
    expect(requests).toHaveLength(2)
    expect(requests[1]?.body).toEqual(requests[0]?.body)
    expect(requests[1]?.headers['x-service']).toBe(requests[0]?.headers['x-service'])

    await press('link', 'Edit and sign')
    const body = await page.getByLabel('Body', { exact: true }).inputValue()
    const edited = body.replace('FeaturesCreated', 'FeaturesDeleted')
    await page.getByLabel('Body', { exact: true }).fill(edited)
    await press('button', 'Edit and sign')
    await notice('The receiver answered 200.')
    expect(requests[2]?.body.toString()).toBe(edited)
    expect(requests[2]?.headers['x-service']).toBe(signatureOf(edited))
    await page.getByRole('heading', { name: 'FeaturesDeleted' }).waitFor()

    await press('link', 'Send to another address')
    await page.getByLabel('Address').fill('http://198.51.100.1/hook')
    await press('button', 'Send to another address')
    await page.getByRole('alert').getByText('not on this machine').waitFor()
    expect(await page.getByLabel('Address').inputValue()).toBe('http://198.51.100.1/hook')
    await page.getByLabel('Address').fill(other.url)
    await press('button', 'Send to another address')
    await notice(`Sent to ${other.url}. The receiver answered 200.`)
    expect(other.requests[0]?.body).toEqual(requests[2]?.body)
    // A receiver with the key of the webhook accepts the edited delivery.
    await press('link', 'Send to another address')
    await page.getByLabel('Address').fill(verifying)
    await press('button', 'Send to another address')
    await notice(`Sent to ${verifying}. The receiver answered 200.`)
  })

  it('filters by service, webhook, change type and outcome', async () => {
    const { service, page, rows } = await openMock(mode, await receiver())
    service.faults.add({ fault: 'unsigned', times: 1 })
    for (const changeType of ['FeaturesCreated', 'FeaturesDeleted'] as const)
      await service.trigger({ serviceName: 'Parcels', changeType })
    await service.trigger({ serviceName: 'Buffer', changeType: 'esriJobSucceeded' })
    await page.reload()
    for (const [name, value, count] of [
      ['service', 'Parcels.FeatureServer', 2],
      ['webhook', 'jobs done', 1],
      ['type', 'FeaturesDeleted', 1],
      ['outcome', 'refused', 1],
      ['outcome', 'delivered', 2],
    ] as const) {
      const field = page.locator(`#filters [name=${name}]`)
      await field.selectOption(value)
      if (!mode.javaScriptEnabled) await page.getByRole('button', { name: 'Filter' }).click()
      await page.waitForURL((url) => url.searchParams.get(name) === value)
      await rows.nth(count).waitFor({ state: 'detached' })
      expect([value, await rows.count()]).toEqual([value, count])
      await page.goto(service.url)
    }
  })

  it('a receiver with another key: cause, evidence and fix, and no key on any page', async () => {
    const { service, page, rows } = await openMock(mode, await receiver({ signatureKey: 'other-key-2026' }))
    await service.trigger(CREATED)
    await page.reload()
    await rows.first().click()
    const why = page.getByRole('region', { name: 'Why' })
    await why.getByText('the receiver has another key, or the bytes changed on the way').waitFor()
    expect(await why.textContent()).toMatch(
      /Evidence.*signature is right for the key of the webhook.*Fix.*Compare the key/s,
    )
    await page.locator('.tabs').getByRole('link', { name: 'Signature' }).click()
    await page.getByRole('columnheader', { name: 'Expected' }).waitFor()
    const paths = await expectNoSecrets(service.url, [KEY, 'other-key-2026'])
    expect(paths).toEqual(expect.arrayContaining(['/', '/webhooks', '/faults/arm', '/settings/change']))
    expect(paths.some((path) => path.endsWith('/download'))).toBe(true)
  })
})
