import { describe, expect, it } from 'vitest'
import { expectAccessible, expectNoHorizontalScroll } from './helpers/axe.ts'
import { createFake } from './helpers/fake-source.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { visit } from './helpers/visit.ts'

/** Every kind of page. */
function pagesOf(good: string, bad: string): string[] {
  const tabs = ['', '/body', '/body?view=hex', '/headers', '/events', '/signature', '/attempts', '/curl']
  return [
    '/',
    '/?text=nothing',
    ...tabs.map((tab) => `/deliveries/${bad}${tab}`),
    `/deliveries/${good}/replay`,
    `/deliveries/${bad}/discard`,
    `/diff?a=${good}&b=${bad}`,
    '/webhooks',
    '/webhooks/create',
    '/clock',
    '/deliveries/unknown',
  ]
}

// The structure of a page does not depend on the theme, and its colours not on the width: each is checked twice.
describe.each([
  { width: 360, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const)('at $width px, $colorScheme', ({ width, colorScheme }) => {
  it('no page has a violation or scrolls sideways', async () => {
    // One delivery of each outcome. Every tenth was refused.
    const fake = createFake({ count: 10 })
    const [bad, good] = (await fake.source.list({ limit: 2, filters: {} })).rows
    fake.add({ service: `Long${'name'.repeat(60)}.FeatureServer`, target: `/${'x'.repeat(300)}` })
    const { url } = await serveInspector(fake)
    const page = await visit(url, { width, colorScheme, hasAxe: true, allowed: /status of 4/ })
    const all = pagesOf(good!.id, bad!.id)
    // Wide pages have the same parts as narrow ones, and also the list.
    const paths = width > 1000 ? all.filter((path) => !/view=|text=|events|attempts|headers/.test(path)) : all
    for (const path of paths) {
      await page.goto(url + path)
      await expectAccessible(page)
      await expectNoHorizontalScroll(page)
    }
    // An invalid form, and the result of an action.
    await page.goto(`${url}/webhooks/create`)
    await page.getByLabel('Name').fill('x')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Payload URL').fill('http://127.0.0.1:3000')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.locator('.notice').waitFor()
    await expectAccessible(page)
  })

  it('the login has no violation', async () => {
    const { url } = await serveInspector(createFake(), { token: 'a token of sixteen characters' })
    const page = await visit(url, { width, colorScheme, hasAxe: true, allowed: /status of 401/ })
    await expectAccessible(page)
    await expectNoHorizontalScroll(page)
  })
})

it('the forced colours of a system and print show the same words', async () => {
  const { url } = await serveInspector(createFake({ count: 3 }))
  const page = await visit(url, { hasAxe: true })
  await page.emulateMedia({ forcedColors: 'active' })
  await expectAccessible(page)
  await page.emulateMedia({ forcedColors: 'none', media: 'print' })
  expect(await page.locator('#pane').isVisible()).toBe(true)
  expect(await page.locator('header').isVisible()).toBe(false)
  await page.emulateMedia({ media: 'screen' })
})
