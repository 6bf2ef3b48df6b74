import { describe, expect, it } from 'vitest'
import { openPage } from './helpers/open-page.ts'
import { untilLive } from './helpers/visit.ts'

describe('the script', () => {
  it('opens pages in the pane without loading the whole page', async () => {
    const { page, rows } = await openPage()
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }))
    await rows.nth(3).click()
    await page.locator('.tabs').getByRole('link', { name: 'Body' }).click()
    await page.locator('pre.bytes').waitFor()
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByRole('heading', { name: 'Comparison' }).waitFor()
    await page.getByRole('link', { name: 'Clock' }).click()
    await page.getByText('It is 04:00:00').waitFor()
    expect(await page.locator('#panels [aria-current=page]').textContent()).toContain('Clock')
    await page.goBack()
    await page.getByRole('heading', { name: 'Comparison' }).waitFor()
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true)
    expect(await page.title()).toBe('Comparison · geohook mock')
  })

  it('filters the list while the pane shows a delivery or a comparison', async () => {
    const { fake, page, rows } = await openPage()
    const { rows: all } = await fake.source.list({ limit: 40, filters: {} })
    await page.goto(`${new URL(page.url()).origin}/diff?a=${all[0]!.id}&b=${all[1]!.id}`)
    await untilLive(page)
    await page.locator('#filters [name=text]').pressSequentially('hydrants')
    await rows.nth(10).waitFor({ state: 'detached' })
    expect(await rows.count()).toBe(10)
    expect(new URL(page.url()).searchParams.get('a')).toBe(all[0]!.id)
    await page.getByRole('heading', { name: 'Comparison' }).waitFor()
    expect(await page.locator('#filters [name=text]').inputValue()).toBe('hydrants')
  })

  it('shows the page of an error instead of a broken pane', async () => {
    const { fake, page, rows } = await openPage({ allowed: /status of 404/ })
    const id = (await rows.nth(2).getAttribute('data-id'))!
    const { get } = fake.source
    Object.assign(fake.source, { get: async (asked: string) => (asked === id ? undefined : get(asked)) })
    await rows.nth(2).click()
    await page.getByRole('heading', { name: 'Error 404' }).waitFor()
  })

  it('copies the curl command', async () => {
    const { fake, page } = await openPage()
    const { id } = fake.add()
    await page.goto(`${new URL(page.url()).origin}/deliveries/${id}/curl`)
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      await page.locator('#curl').textContent(),
    )
  })
})

describe('with the keyboard alone', () => {
  it('a user reaches the filter, the rows, a delivery and its tabs', async () => {
    const { page, rows, focused } = await openPage()
    const id = (number: number) => rows.nth(number).getAttribute('data-id')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter') // Skip to the content
    expect(await focused()).toBe('pane')
    await page.keyboard.press('/')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('text')
    await page.keyboard.type('parcels/j')
    expect(await page.locator('#filters [name=text]').inputValue()).toBe('parcels/j')
    await rows.first().waitFor({ state: 'detached' })
    await page.locator('#filters [name=text]').fill('')
    await rows.nth(39).waitFor()
    await page.locator('#list').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    expect(await focused()).toBe(await id(1))
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    expect(await focused()).toBe(await id(1))
    await page.keyboard.press('Enter')
    await page.locator('.tabs').waitFor()
    expect(await focused()).toBe('pane')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Overview')
    await page.keyboard.press('j')
    expect(await focused()).toBe(await id(2))
  })

  it('the focus can be seen on everything that can have it', async () => {
    const { page } = await openPage({ path: '/webhooks/create' })
    await page.locator('body').press('Tab')
    for (let index = 0; index < 20; index++) {
      const outline = await page.evaluate(() => {
        const style = getComputedStyle(document.activeElement ?? document.body)
        return `${style.outlineStyle} ${style.outlineWidth}`
      })
      expect(outline).not.toMatch(/^none|\b0px/)
      await page.keyboard.press('Tab')
    }
  })
})
