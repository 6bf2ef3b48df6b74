import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const load = (path: string) => import(new URL(`bench/${path}`, root).href)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const text = read('docs/performance.md')

it.each(['docs/performance.md', 'docs/scaling.md'])('%s shows the results in bench/results', async (path) => {
  const { fillDocs } = await load('lib/docs.mjs')
  const page = read(path)
  expect(page).toContain('<!-- bench: inbox -->')
  expect(page, 'run npm run bench -- --docs').toBe(fillDocs(page))
})

it('docs/performance.md has a marker for the goals and for each part of the benchmark suite', async () => {
  const { PARTS } = await load('parts.mjs')
  const markers = [...text.matchAll(/<!-- bench: (\w+) -->/g)].map(([, name]) => name)
  expect(markers).toEqual(['goals', ...PARTS])
})

it('docs/performance.md lists every goal with its value', async () => {
  const { GOALS, goalOf } = await load('goals.mjs')
  expect(GOALS.length).toBeGreaterThan(0)
  for (const { id } of GOALS) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${id}\` |`))
    expect(row).toContain(` ${goalOf(id)}`)
  }
})
