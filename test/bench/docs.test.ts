import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const load = (path: string) => import(new URL(`bench/${path}`, root).href)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const text = read('docs/performance.md')

const pages = readdirSync(new URL('docs/', root)).filter(
  (name) => name.endsWith('.md') && read(`docs/${name}`).includes('<!-- bench:'),
)

it.each(pages)('docs/%s shows the results in bench/results', async (name) => {
  const { fillDocs } = await load('lib/docs.mjs')
  const page = read(`docs/${name}`)
  expect(page, 'run npm run bench -- --docs').toBe(fillDocs(page))
})

it('fills sections and single figures, and rejects an unknown figure', async () => {
  const { fillDocs } = await load('lib/docs.mjs')
  expect(fillDocs('It is <!-- bench: http/ahead -->?<!-- end --> as fast.')).toMatch(
    /^It is <!-- bench: http\/ahead -->[\d.]+×<!-- end --> as fast\.$/,
  )
  expect(() => fillDocs('<!-- bench: http/none -->?<!-- end -->')).toThrow('no figure http/none')
})

it('docs/performance.md shows plots that exist', () => {
  const plots = [...text.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => path)
  expect(plots.length).toBeGreaterThan(5)
  expect(plots.filter((path) => !existsSync(new URL(`docs/${path}`, root)))).toEqual([])
})

it('docs/performance.md has a marker for the goals and for each part of the benchmark suite', async () => {
  const { PARTS } = await load('parts.mjs')
  const markersIn = (page: string) => [...page.matchAll(/<!-- bench: (\w+) -->/g)].map(([, name]) => name)
  expect(markersIn(text)).toEqual(['goals', ...PARTS])
  expect(markersIn(read('docs/benchmarks.md'))).toEqual(PARTS.map((name: string) => `${name}_tables`))
})

it('docs/performance.md lists every goal with its value', async () => {
  const { GOALS, goalOf } = await load('goals.mjs')
  expect(GOALS.length).toBeGreaterThan(0)
  for (const { id } of GOALS) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${id}\` |`))
    expect(row).toContain(` ${goalOf(id)}`)
  }
})
