import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Fails if the page violates a rule of WCAG 2.2 A or AA, or one of axe's best practices. The page must have axe. */
export async function expectAccessible(page: Page): Promise<void> {
  // After a click, the elements of the next page are there before its style sheet.
  await page.waitForLoadState()
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
    )
  })
  expect(violations, page.url()).toEqual([])
}

/** Fails if the page is wider than the window. */
export async function expectNoHorizontalScroll(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > clientWidth)
      .map((element) => element.outerHTML.slice(0, 100))
  })
  expect(wide, page.url()).toEqual([])
}
