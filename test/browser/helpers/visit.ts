import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { launch } from './launch.ts'

/** Whether the page's script runs. Scenarios that work in both modes are tested in both. */
export const MODES = [
  { mode: 'with script', javaScriptEnabled: true },
  { mode: 'without script', javaScriptEnabled: false },
] as const

export type Mode = (typeof MODES)[number]

export interface VisitOptions {
  /** Default true. */
  javaScriptEnabled?: boolean
  width?: number
  height?: number
  colorScheme?: 'light' | 'dark'
  /** True if every page gets axe, for `expectAccessible`. */
  hasAxe?: boolean
  /** Problems that the test causes on purpose. */
  allowed?: RegExp
}

interface Tab {
  context: BrowserContext
  page: Page
  problems: string[]
}

let browser: Promise<Browser> | undefined
/** One tab for each kind is used by all tests, because opening a tab takes longer than most tests. */
const tabs = new Map<string, Promise<Tab>>()

async function openTab(javaScriptEnabled: boolean, hasAxe: boolean): Promise<Tab> {
  browser ??= launch()
  const context = await (await browser).newContext({
    javaScriptEnabled,
    permissions: ['clipboard-read', 'clipboard-write'],
    timezoneId: 'UTC',
    locale: 'en',
  })
  if (hasAxe) await context.addInitScript(axe.source)
  const page = await context.newPage()
  page.setDefaultTimeout(45_000)
  const problems: string[] = []
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`console: ${message.text()} ${message.location().url}`)
  })
  context.on('request', (request) => problems.push(`request: ${request.url()}`))
  return { context, page, problems }
}

/**
 * Opens a page. When the test ends, it fails if the page has opened a dialog, reported an error or a violation of its
 * Content-Security-Policy, or requested anything from another origin.
 */
export async function visit(
  url: string,
  {
    javaScriptEnabled = true,
    hasAxe = false,
    width = 1280,
    height = 800,
    colorScheme = 'light',
    allowed = /^$/,
  }: VisitOptions = {},
): Promise<Page> {
  const kind = `${javaScriptEnabled} ${hasAxe}`
  const tab = tabs.get(kind) ?? openTab(javaScriptEnabled, hasAxe)
  tabs.set(kind, tab)
  const { context, page, problems } = await tab
  problems.length = 0
  const own = `request: ${new URL(url).origin}/`
  onTestFinished(async () => {
    const found = problems.filter((problem) => !problem.startsWith(own) && !allowed.test(problem))
    if (javaScriptEnabled) await page.evaluate(() => localStorage.clear())
    await context.clearCookies()
    await page.goto('about:blank')
    expect(found).toEqual([])
  })
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme })
  await page.goto(url)
  return page
}

/** Waits until the page receives live updates. */
export const untilLive = (page: Page): Promise<void> => page.locator('#live', { hasText: /^live$/ }).waitFor()
