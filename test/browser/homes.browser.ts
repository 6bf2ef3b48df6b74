import { describe, expect, it } from 'vitest'
import { expectAccessible, expectNoHorizontalScroll } from './helpers/axe.ts'
import { HOMES } from './helpers/homes.ts'
import { expectNoSecrets } from './helpers/secrets.ts'
import { untilLive, visit } from './helpers/visit.ts'

describe.each(HOMES)('$name', ({ start }) => {
  it('shows new deliveries live', async () => {
    const { url, deliver } = await start()
    const page = await visit(url)
    await untilLive(page)
    const first = page.locator('#rows > li').first()
    const before = await first.getAttribute('data-id')
    await deliver()
    await page.locator(`#rows > li:first-child:not([data-id="${before}"])`).waitFor()
  })

  it('has accessible pages, which contain no key', async () => {
    const { url, secrets } = await start()
    const page = await visit(url, { width: 360, hasAxe: true })
    await page.locator('#rows a').first().click()
    await page.locator('.tabs').waitFor()
    // The tabs are the same in all homes, except for what they show.
    const hrefs = await page
      .locator('.tabs li:first-child a, .actions a, #panels a')
      .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href))
    expect(hrefs.length).toBeGreaterThan(1)
    for (const href of hrefs) {
      await page.goto(href)
      await expectAccessible(page)
      await expectNoHorizontalScroll(page)
    }
    expect((await expectNoSecrets(url, secrets)).length).toBeGreaterThan(20)
  })

  it('works without script', async () => {
    const { url, deliver } = await start()
    const page = await visit(url, { javaScriptEnabled: false })
    const count = await page.locator('#rows > li').count()
    await deliver()
    await page.reload()
    expect(await page.locator('#rows > li').count()).toBe(count + 1)
    await page.locator('#rows a').first().click()
    await page.locator('.tabs').getByRole('link', { name: 'Body' }).click()
    expect(await page.locator('pre.bytes').textContent()).not.toBe('')
  })
})
