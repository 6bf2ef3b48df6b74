import type { MockService, MockServiceOptions, Webhook } from 'geohook/mock'
import type { Locator, Page } from 'playwright-core'
import { FEATURE, JOB, seed, start } from '../../mock/support.ts'
import { type Mode, untilLive, visit } from './visit.ts'

export interface OpenMock {
  service: MockService
  page: Page
  rows: Locator
  /** Shows the current list: live, or by loading the page again. */
  refresh(): Promise<void>
  /** Opens a panel by its link. */
  openPanel(name: string): Promise<void>
  /** Follows a link of the pane, or submits a form with this button. */
  press(role: 'link' | 'button', name: string): Promise<void>
  /** Waits for the result of an action. */
  notice(text: string): Promise<void>
}

/** Starts a mock with two services, and opens its address in the browser. */
export async function openMock(
  { javaScriptEnabled }: Mode,
  hookUrl: string,
  {
    changes = {},
    options = {},
    allowed,
  }: { changes?: Partial<Webhook>; options?: MockServiceOptions; allowed?: RegExp } = {},
): Promise<OpenMock> {
  const service = await start(
    [
      seed(FEATURE, { hookUrl, changeTypes: ['*'], scheduleInfo: {}, ...changes }),
      seed(JOB, { hookUrl, ...changes, scheduleInfo: {} }),
    ],
    options,
  )
  const page = await visit(service.url, { javaScriptEnabled, ...(allowed && { allowed }) })
  if (javaScriptEnabled) await untilLive(page)
  const pane = page.locator('#pane')
  return {
    service,
    page,
    rows: page.locator('#rows > li'),
    async refresh() {
      if (!javaScriptEnabled) await page.reload()
    },
    openPanel: (name) => page.locator('#panels').getByRole('link', { name }).click(),
    press: (role, name) => pane.getByRole(role, { name, exact: true }).click(),
    notice: (text) => pane.locator('.notice', { hasText: text }).waitFor(),
  }
}
