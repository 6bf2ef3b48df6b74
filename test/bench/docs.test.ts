import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const load = (path: string) => import(new URL(`bench/${path}`, root).href)
const text = readFileSync(new URL('docs/performance.md', root), 'utf8')

it('docs/performance.md has the results that are in bench/results', async () => {
  const { fillDocs } = await load('lib/docs.mjs')
  expect(text, 'npm run bench -- --docs writes them').toBe(fillDocs(text))
})

it('docs/performance.md has a place for the goals, and for every part of the suite', async () => {
  const { PARTS } = await load('parts.mjs')
  const places = [...text.matchAll(/<!-- bench: (\w+) -->/g)].map(([, name]) => name)
  expect(places).toEqual(['goals', ...PARTS])
})

it('docs/performance.md names every goal, with its value', async () => {
  const { GOALS, goalOf } = await load('goals.mjs')
  expect(GOALS.length).toBe(12)
  for (const { id } of GOALS) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${id}\` |`))
    expect(row).toContain(` ${goalOf(id)}`)
  }
})
