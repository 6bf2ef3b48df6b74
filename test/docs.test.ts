import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = new URL('../', import.meta.url).pathname
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith('.md'),
)
const architecture = read('docs/architecture.md')

/** Matches what the npm package contains besides `dist`. */
const PACKED = /^(README\.md|CHANGELOG\.md|SECURITY\.md|LICENSE|docs\/.+|examples\/.+)$/

/** Returns the links of a page to files and headings, relative to the root, without those in code. */
function linksOf(page: string): { path: string; anchor: string }[] {
  const prose = read(page).replace(/```.*?```|`[^`\n]*`/gs, '')
  return [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)].map(([, path = '', anchor = '']) => ({
    path: path ? join(dirname(page), path) : page,
    anchor,
  }))
}

/** Returns the anchors that a renderer creates for the headings of a page, and those that it defines itself. */
function anchorsOf(page: string): string[] {
  const text = read(page)
  const headings = [...text.replace(/```.*?```/gs, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title)
  const slugs = headings.map((title) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
  return [...slugs, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)]
}

describe.each(pages)('%s', (page) => {
  it('links only to files and headings that exist', () => {
    for (const { path, anchor } of linksOf(page)) {
      expect(existsSync(join(root, path)), path).toBe(true)
      if (anchor && path.endsWith('.md')) expect(anchorsOf(path), `${path}#${anchor}`).toContain(anchor)
    }
  })
})

it('docs link only to files that are in the npm package', () => {
  const links = pages.filter((page) => page.startsWith('docs/')).flatMap(linksOf)
  expect(links.length).toBeGreaterThan(30)
  expect(links.map(({ path }) => path).filter((path) => !PACKED.test(path))).toEqual([])
})

describe('docs/architecture.md', () => {
  it('names only files and folders that exist', () => {
    const names = [...architecture.matchAll(/`([\w./*-]+(?:\.ts|\.json|\.cjs|\.md|\/))`/g)].map(
      ([, name = '']) => name,
    )
    expect(names.length).toBeGreaterThan(50)
    const files = ['src', 'src/mock', '.'].map((folder) => join(root, folder))
    const missing = names.filter(
      (name) => !name.includes('*') && !files.some((folder) => existsSync(join(folder, name))),
    )
    expect(missing).toEqual([])
  })

  it('names functions that exist in the files that it names', () => {
    const places = [...architecture.matchAll(/`(\w+)\(\)` (?:in|of) `([\w./-]+\.ts)`/g)]
    expect(places.length).toBeGreaterThan(5)
    const missing = places.filter(([, name = '', file = '']) => !read(`src/${file}`).includes(`${name}(`))
    expect(missing.map(([place]) => place)).toEqual([])
  })

  it('lists the layers in the order in which they may import each other', () => {
    const rows =
      (architecture.split('## Layers')[1] ?? '').split('\n## ')[0]?.matchAll(/^\| `(\w+)(?:\/|\.ts)`/gm) ?? []
    const layers = [...rows].map(([, name]) => name)
    const [, list = ''] = /const LAYERS = \[(.*?)\]/s.exec(read('.dependency-cruiser.cjs')) ?? []
    expect(layers).toEqual([...list.matchAll(/'(\w+)'/g)].map(([, name]) => name))
  })
})
