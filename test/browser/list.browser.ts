import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createFake } from './helpers/fake-source.ts'
import { openPage } from './helpers/open-page.ts'
import { MODES, type Mode } from './helpers/visit.ts'

/** The list of deliveries, with and without the page's script. */
describe.each(MODES)('$mode', ({ javaScriptEnabled }: Mode) => {
  const open = (options?: { path?: string; fake?: ReturnType<typeof createFake> }) =>
    openPage({ ...options, javaScriptEnabled, allowed: /status of 400/ })
  const choose = async (page: Page, name: string, value: string): Promise<void> => {
    await page.locator(`#filters [name=${name}]`).selectOption(value)
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Filter' }).click()
    await page.waitForURL((address) => address.searchParams.get(name) === value)
  }
  const shown = async (texts: Promise<string[]>): Promise<Set<string>> => new Set(await texts)

  it('lists deliveries, newest first, with their outcome', async () => {
    const { fake, page, rows } = await open()
    expect(await rows.count()).toBe(40)
    expect(await rows.first().textContent()).toMatch(
      /esriJobSucceeded.*Buffer\.GPServer · jobs.*401 refused ×3/s,
    )
    expect(await page.locator('#summary').textContent()).toMatch(
      /36 handled\s+4 refused|4 refused\s+36 handled/,
    )
    expect(await rows.last().getAttribute('data-id')).toBe(
      (await fake.source.list({ limit: 100, filters: {} })).rows[39]?.id,
    )
  })

  it('lists each part of a delivery in its own column', async () => {
    const { rows } = await open()
    for (const part of ['.types', '.place', '.outcome']) {
      const lefts = await rows
        .locator(part)
        .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().left))
      expect(new Set(lefts).size, part).toBe(1)
    }
  })

  it('filters by service, webhook, change type and outcome, and keeps the filter in the address', async () => {
    const { url, page, rows } = await open()
    for (const [name, value, part, pattern, count] of [
      ['service', 'Parcels.FeatureServer', '.place', /^Parcels\.FeatureServer/, 20],
      ['webhook', 'hydrants', '.place', /hydrants$/, 10],
      ['type', 'FeaturesDeleted', '.types', /^FeaturesDeleted$/, 10],
      ['outcome', 'refused', '.outcome', /refused/, 4],
    ] as const) {
      await choose(page, name, value)
      await rows.nth(count).waitFor({ state: 'detached' })
      await page.reload()
      expect(await rows.count()).toBe(count)
      for (const text of await shown(rows.locator(part).allTextContents())) expect(text).toMatch(pattern)
      expect(await page.locator(`#filters [name=${name}]`).inputValue()).toBe(value)
      await rows.first().click()
      await page.locator('.tabs').waitFor()
      expect(new URL(page.url()).searchParams.get(name)).toBe(value)
      await page.goto(url)
    }
  })

  it('filters by text, and says so if nothing matches', async () => {
    const { page, rows } = await open()
    await page.locator('#filters [name=text]').fill('HYDRANTS')
    await page.keyboard.press('Enter')
    await rows.nth(10).waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.get('text')).toBe('HYDRANTS')
    await page.locator('#filters [name=text]').fill('nothing like it')
    await page.keyboard.press('Enter')
    await page.getByText('No deliveries match the filters.').waitFor()
    expect(await rows.count()).toBe(0)
  })

  it('clears the list', async () => {
    const { page, rows } = await open()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('The list is cleared.').waitFor()
    await page.getByText('No deliveries yet.').waitFor()
    expect(await rows.count()).toBe(0)
  })

  it('goes back and forward', async () => {
    const { page, rows } = await open()
    const heading = page.locator('h2')
    await rows.nth(1).click()
    await heading.getByText('FeaturesDeleted').waitFor()
    await page.locator('.tabs').getByRole('link', { name: 'Headers' }).click()
    await page.getByRole('columnheader', { name: 'Header' }).waitFor()
    await page.goBack()
    await page.locator('.tabs [aria-current=page]', { hasText: 'Overview' }).waitFor()
    await page.goBack()
    await heading.getByText('Overview').waitFor()
    expect(await page.locator('#rows [aria-current]').count()).toBe(0)
    await page.goForward()
    await heading.getByText('FeaturesDeleted').waitFor()
    expect(await rows.nth(1).locator('a').getAttribute('aria-current')).toBe('page')
  })

  it('pages through more deliveries than one page shows', async () => {
    const { page, rows, fake } = await open({ fake: createFake({ count: 1_030 }) })
    expect(await rows.count()).toBe(1000)
    await page.getByRole('link', { name: 'Older deliveries' }).click()
    await page.getByRole('link', { name: 'Newest deliveries' }).waitFor()
    expect(await rows.count()).toBe(30)
    const { id } = fake.add()
    await page.getByRole('link', { name: 'Newest deliveries' }).click()
    await page.locator(`[data-id="${id}"]`).waitFor()
  })
})
