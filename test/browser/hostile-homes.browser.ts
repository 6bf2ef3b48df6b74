import { createReceiver } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { createMockService } from 'geohook/mock'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ONE_ATTEMPT } from '../helpers/dead-letters.ts'
import { KEY, signatureOf } from '../helpers/deliver.ts'
import { startInspected } from '../inspector/helpers/request-log-support.ts'
import { capture } from '../mock/support.ts'
import { ADDED, ATTACKS } from './helpers/attacks.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { MODES, untilLive, visit } from './helpers/visit.ts'

const [SCRIPT = ''] = ATTACKS
const ALL = ATTACKS.join(' ')
const TABS = ['', '/body', '/headers', '/events', '/signature', '/attempts', '/curl']

/** A payload with markup in every field, and in the names of fields. */
const payloadOf = (attack: string): string =>
  JSON.stringify({
    name: attack,
    id: attack,
    [attack]: attack,
    folderName: attack,
    serviceName: attack,
    serviceType: attack,
    events: [{ eventType: attack, when: 1730385704000 }],
    changesUrl: attack,
    statusUrl: attack,
    jobId: attack,
  })

/** Opens the newest delivery in every tab, and every panel, and expects the markup as text only. */
async function look(page: Page, url: string, panels: readonly string[]): Promise<void> {
  await page.goto(url)
  const id = await page.locator('#rows > li').first().getAttribute('data-id')
  const pages = ['/', ...TABS.map((tab) => `/deliveries/${id}${tab}`), ...panels]
  for (const path of pages) {
    await page.goto(url + path)
    expect([path, await page.locator(ADDED).count()]).toEqual([path, 0])
  }
  expect(await page.locator('#pane').textContent()).not.toBe('')
}

describe.each(MODES)('markup is shown as text, $mode', ({ javaScriptEnabled }) => {
  const open = async (url: string): Promise<Page> => {
    const page = await visit(url, { javaScriptEnabled })
    if (javaScriptEnabled) await untilLive(page)
    return page
  }

  it('in the names, addresses and payloads of a mock, and in the responses of its receiver', async () => {
    const { url } = await capture((_req, res) =>
      res.writeHead(500, { 'x-attack': SCRIPT, 'content-type': 'text/html' }).end(ALL),
    )
    const name = SCRIPT.replace('/', '')
    const service = createMockService({
      webhooks: ATTACKS.slice(0, 5).map((attack) => ({
        serviceName: `Parcels ${name}`,
        serviceType: 'FeatureServer',
        name: attack,
        changeTypes: ['*'],
        hookUrl: `${url}?a=${encodeURIComponent(attack)}&b=<b>"'`,
        signatureKey: KEY,
      })),
      like: { window: false },
      settings: { notificationAttempts: 1 },
    })
    onTestFinished(() => service.close())
    await service.listen()
    const page = await open(service.url)
    await service.trigger({ serviceName: `Parcels ${name}`, changeType: 'FeaturesCreated' })
    await page.goto(service.url)
    await page.locator('#rows a').first().click()
    await page.getByRole('link', { name: 'Edit and sign' }).click()
    await page.getByLabel('Body', { exact: true }).fill(payloadOf(ALL))
    await page.getByRole('button', { name: 'Edit and sign' }).click()
    await page.locator('.notice').getByText('answered 500').waitFor()
    const panels = ['/webhooks', '/faults', '/faults/arm', '/settings']
    await look(page, service.url, panels)
    await page.goto(`${service.url}/webhooks`)
    expect(await page.locator('#panel').textContent()).toContain(SCRIPT)
    await page.goto(`${service.url}/services/webhooks`)
    expect(await page.locator(ADDED).count()).toBe(0)
  })

  it('in the requests of a receiver, verified or not', async () => {
    const { hook, pageUrl } = await startInspected()
    const page = await open(pageUrl)
    const body = payloadOf(ALL.replace(/[^ -~]/g, ''))
    for (const key of [`${KEY}\n`, KEY]) {
      const headers = {
        'content-type': 'application/json',
        'x-service': signatureOf(body, key),
        'x-a': SCRIPT,
      }
      await (await fetch(`${hook}?${SCRIPT}`, { method: 'POST', headers, body })).text()
    }
    await look(page, pageUrl, [])
    expect(await page.locator('#rows').textContent()).toContain(SCRIPT)
  })

  it('in the payloads of an inbox, and in the errors of its handlers', async () => {
    const inbox = createMemoryInbox(ONE_ATTEMPT)
    const body = payloadOf(ALL)
    const receiver = createReceiver({ signatureKey: KEY, inbox })
    await receiver.fetch(
      new Request('http://receiver.example/hook', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service': signatureOf(body) },
        body,
      }),
    )
    const workers = inbox.work(
      createReceiver({ signatureKey: KEY, observer: { failed() {} } }).on('*', () => {
        throw new Error(ALL)
      }),
      { concurrency: 1 },
    )
    onTestFinished(() => workers.close())
    await expect.poll(async () => (await inbox.stats()).dead, { timeout: 60_000 }).toBe(1)
    const { url } = await serveInspector(inbox)
    const page = await open(url)
    await look(page, url, ['/inbox'])
    expect(await page.locator('#panel').textContent()).toContain(SCRIPT)
  })
})
