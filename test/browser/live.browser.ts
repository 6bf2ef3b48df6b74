import { describe, expect, it } from 'vitest'
import { createInspector } from '../../src/inspector/index.ts'
import { serve } from '../helpers/served.ts'
import { createFake } from './helpers/fake-source.ts'
import { openPage } from './helpers/open-page.ts'
import { untilLive, visit } from './helpers/visit.ts'

describe('live updates', () => {
  it('a new delivery appears at the top, and changes when it is handled', async () => {
    const { fake, page, rows, row } = await openPage()
    const item = fake.add({ outcome: { tone: 'pending', word: 'in flight' } })
    await row(item.id).getByText('in flight').waitFor()
    expect(await rows.first().getAttribute('data-id')).toBe(item.id)
    fake.put({ ...item, outcome: { tone: 'good', word: 'handled', status: 200 } })
    await row(item.id).getByText('200 handled').waitFor()
    expect(await rows.count()).toBe(41)
    expect(await page.locator('#summary').textContent()).toMatch(/37 handled/)
    fake.remove(item.id)
    await row(item.id).waitFor({ state: 'detached' })
  })

  it('a delivery that begins to match the filters appears at its place', async () => {
    const { fake, rows, row } = await openPage({ path: '/?outcome=refused' })
    const { rows: all } = await fake.source.list({ limit: 40, filters: {} })
    const item = (await fake.source.get(all[5]!.id))!
    fake.put({ ...item, outcome: { tone: 'bad', word: 'refused', status: 401 } })
    await row(item.id).waitFor()
    expect(await rows.nth(1).getAttribute('data-id')).toBe(item.id)
  })

  it('the first delivery brings the filters for its service', async () => {
    const { fake, page, rows } = await openPage({ fake: createFake({ count: 0 }) })
    await page.getByText('No deliveries yet.').waitFor()
    fake.add()
    await rows.first().waitFor()
    await page.locator('#filters [name=service]').selectOption('Parcels.FeatureServer')
    expect(await page.locator('#empty').isVisible()).toBe(false)
  })

  it('neither move the list nor take the focus from a row that changes', async () => {
    const { fake, rows, row, focused } = await openPage()
    const id = (await rows.nth(30).getAttribute('data-id'))!
    await rows.nth(30).locator('a').focus()
    const top = () => row(id).evaluate((element) => Math.round(element.getBoundingClientRect().top))
    const before = await top()
    const added = fake.add()
    fake.put({ ...(await fake.source.get(id))!, outcome: { tone: 'bad', word: 'failed', status: 500 } })
    await row(added.id).waitFor({ state: 'attached' })
    await row(id).getByText('500 failed').waitFor()
    expect(await focused()).toBe(id)
    expect(Math.abs((await top()) - before)).toBeLessThan(3)
  })

  it('change the pane of a delivery, and keep its open parts, scroll position and focus', async () => {
    const { fake, page, focused } = await openPage()
    const item = fake.add()
    await page.goto(`${new URL(page.url()).origin}/deliveries/${item.id}/attempts`)
    await untilLive(page)
    await page.locator('summary').click()
    fake.put({
      ...item,
      attemptLog: [...item.attemptLog, { number: 2, time: item.time, tone: 'bad', result: '503' }],
    })
    await page.getByRole('heading', { name: 'Attempt 2' }).waitFor()
    expect(await page.locator('details').first().getAttribute('open')).not.toBeNull()
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY')
    expect(await focused()).toBe('')
  })

  it('never replace a form that the user fills in', async () => {
    const { fake, page, rows } = await openPage()
    const item = fake.add()
    await page.locator(`[data-id="${item.id}"]`).click()
    await page.getByRole('link', { name: 'Replay to …' }).click()
    await page.getByLabel('Times').fill('3')
    await page.locator('h2').click()
    const loaded = page.waitForResponse(
      (response) => response.request().headers()['geohook-part'] === 'pane' && response.ok(),
    )
    fake.put({ ...item, attempts: 2, target: '/hooks/other' })
    await rows.first().getByText('×2').waitFor()
    await (await loaded).finished()
    expect(await page.getByLabel('Times').inputValue()).toBe('3')
    expect(await page.getByLabel('URL').inputValue()).toBe('http://127.0.0.1:3000/hooks/parcels-v2')
  })

  it('the result of an action stays when the delivery changes, and is not in the address', async () => {
    const { fake, page } = await openPage()
    const item = fake.add()
    await page.locator(`[data-id="${item.id}"]`).click()
    await page.getByRole('button', { name: 'Resend' }).click()
    await page.getByText('Sent again: 200.').waitFor()
    await untilLive(page)
    expect(page.url()).not.toContain('notice')
    const id = new URL(page.url()).pathname.split('/')[2]!
    fake.put({ ...(await fake.source.get(id))!, facts: [['Proof', 'it has changed']] })
    await page.getByText('it has changed').waitFor()
    expect(await page.getByText('Sent again: 200.').isVisible()).toBe(true)
  })

  it('stop while paused, and are made up for afterwards', async () => {
    const { fake, page, rows, row } = await openPage()
    const pause = page.getByRole('button', { name: 'Pause' })
    await pause.click()
    await page.locator('#live', { hasText: 'paused' }).waitFor()
    expect(await pause.getAttribute('aria-pressed')).toBe('true')
    // A second connection shows when the page has received the change.
    await page.evaluate(async () => {
      const source = new EventSource('/live')
      const received = new Promise((resolve) => source.addEventListener('rows', resolve))
      Object.assign(globalThis, { received: received.then(() => source.close()) })
      await new Promise((resolve) => source.addEventListener('open', resolve))
    })
    const item = fake.add()
    await page.evaluate(() => (globalThis as unknown as { received: Promise<void> }).received)
    expect(await rows.count()).toBe(40)
    await pause.click()
    await row(item.id).waitFor()
    expect(await rows.count()).toBe(41)
  })

  it('continue after the server was restarted, and forms can then be submitted', async () => {
    const fake = createFake()
    const first = await serve(createInspector(fake))
    const page = await visit(first.url, {
      allowed: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET/,
    })
    await untilLive(page)
    await first.close()
    await page.locator('#live', { hasText: 'not connected' }).waitFor()
    const item = fake.add()
    await serve(createInspector(fake), Number(new URL(first.url).port))
    await page.locator(`[data-id="${item.id}"]`).waitFor()
    await untilLive(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('The list is cleared.').waitFor()
  })
})
