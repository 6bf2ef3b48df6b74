import type { Locator, Page } from 'playwright-core'
import { createFake } from './fake-source.ts'
import { serveInspector } from './serve-inspector.ts'
import { untilLive, visit } from './visit.ts'

type Fake = ReturnType<typeof createFake>

/** A page of an inspector with invented deliveries. */
export interface OpenPage {
  fake: Fake
  url: string
  page: Page
  /** The rows of the list. */
  rows: Locator
  /** The row of a delivery. */
  row(id: string): Locator
  /** Returns the id of the focused delivery or element. */
  focused(): Promise<string>
}

/** Options of {@link openPage}. */
interface Options {
  path?: string
  fake?: Fake
  javaScriptEnabled?: boolean
  /** Problems that the test causes on purpose. */
  allowed?: RegExp
}

/** Opens a page, and waits until its list is live, if the script runs. */
export async function openPage({
  path = '/',
  fake = createFake(),
  javaScriptEnabled = true,
  allowed = /^$/,
}: Options = {}): Promise<OpenPage> {
  const { url } = await serveInspector(fake)
  const page = await visit(url + path, { javaScriptEnabled, allowed })
  if (javaScriptEnabled) await untilLive(page)
  return {
    fake,
    url,
    page,
    rows: page.locator('#rows > li'),
    row: (id) => page.locator(`#rows > [data-id="${id}"]`),
    focused: () =>
      page.evaluate(() => {
        const element = document.activeElement
        return element?.closest('[data-id]')?.getAttribute('data-id') ?? element?.id ?? ''
      }),
  }
}
