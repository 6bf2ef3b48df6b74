import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createFake } from './helpers/fake-source.ts'
import { startInboxScene, startMockScene } from './helpers/scenes.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { shrinkPng } from './helpers/shrink-png.ts'
import { untilLive, visit } from './helpers/visit.ts'

const toPath = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** For review; not part of the repository. */
const REVIEW = toPath('test/browser/pictures')
/** Pictures of the documentation, which are in the repository: `npm run pictures` makes them. */
const DOCS = toPath('docs/pictures')
const IN_DOCS: Readonly<Record<string, [name: string, height: number]>> = {
  refused: ['inspector', 520],
  diff: ['inspector-diff', 520],
  inbox: ['inspector-inbox', 740],
}
const MAX_BYTES = 150 * 1024

const SCHEMES = ['light', 'dark'] as const

/** Writes pictures of a page in light and dark. */
async function take(page: Page, name: string): Promise<void> {
  mkdirSync(REVIEW, { recursive: true })
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: `${REVIEW}/${name}-${colorScheme}.png` })
  }
  await page.emulateMedia({ colorScheme: 'light' })
}

async function takeForDocs(page: Page, name: string, height: number): Promise<void> {
  mkdirSync(DOCS, { recursive: true })
  await page.setViewportSize({ width: 1280, height })
  // The headers and the body are the most telling parts of a comparison.
  if (name === 'inspector-diff') await page.locator('main').evaluate((main) => main.scrollTo(0, 225))
  writeFileSync(`${DOCS}/${name}.png`, shrinkPng(await page.screenshot()))
  await page.setViewportSize({ width: 1280, height: 800 })
}

describe.each([360, 1280])('%i px', (width) => {
  it('pictures of a mock and an inbox are written for review', async () => {
    const [mock, inbox] = await Promise.all([startMockScene(), startInboxScene()])
    const page = await visit('about:blank', { width, allowed: /^request: http:\/\/127/ })
    for (const { url, pages } of [mock, inbox])
      for (const [name, path] of pages) {
        await page.goto(url + path)
        await untilLive(page)
        // The plot of an inbox needs two samples.
        if (name === 'inbox') await page.getByRole('heading', { name: 'Rates' }).waitFor()
        await take(page, `${name}-${width}`)
        const inDocs = IN_DOCS[name]
        if (process.env.PICTURES === 'docs' && inDocs && width === 1280) await takeForDocs(page, ...inDocs)
      }
    console.log(`Pictures: ${REVIEW}`)
  })

  it('pictures of the login are written for review', async () => {
    const { url } = await serveInspector(createFake(), { token: 'a token of sixteen characters' })
    await take(await visit(url, { width, allowed: /status of 401/ }), `login-${width}`)
  })
})

it.each(Object.values(IN_DOCS).map(([name]) => name))(
  'the documentation shows the picture %s, which is small',
  (name) => {
    const file = `${DOCS}/${name}.png`
    expect(existsSync(file), 'npm run pictures').toBe(true)
    expect(statSync(file).size).toBeLessThanOrEqual(MAX_BYTES)
    const pages = ['README.md', ...readdirSync(toPath('docs')).map((page) => `docs/${page}`)]
      .filter((page) => page.endsWith('.md'))
      .filter((page) => readFileSync(toPath(page), 'utf8').includes(`pictures/${name}.png`))
    expect(pages).not.toEqual([])
  },
)
