import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url).pathname
const read = (path: string): string => readFileSync(root + path, 'utf8')

/** The options that the tables under a heading tell, with their defaults as they are told. */
function toldUnder(heading: string): [string, string][] {
  const section = read('docs/inbox.md').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\|.*?`(\w+)` \| `(\d+)` \|/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ])
}

/** What a number of the source is: digits, days. */
function toNumber(text: string): string {
  const factors = text.split('*').map((factor) => factor.trim().replace('DAY', '86_400_000'))
  return String(factors.reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1))
}

it('the options of the inboxes have the defaults that are told', () => {
  const source = read('src/inbox/options.ts')
  const inSource = [...source.matchAll(/readNumber\('(\w+)', options\.\1 \?\? ([^,]+), /g)].map(
    ([, name = '', value = '']) => [name, toNumber(value)],
  )
  expect(inSource.length).toBe(8)
  expect(toldUnder('Options')).toEqual(inSource)
  const concurrency = /options\?\.concurrency \?\? (\d+)/.exec(source)?.[1]
  expect(read('docs/inbox.md')).toContain(`deliveries at a time, ${concurrency} by default`)
})

it('the options of the stores of duplicates have the defaults that are told', () => {
  const inSource = ['claims', 'memory-duplicates'].flatMap((file) =>
    [...read(`src/inbox/${file}.ts`).matchAll(/[{,] (\w+) = ([\d_]+)(?=[, ])/g)].map(
      ([, name = '', value = '']) => [name, toNumber(value)],
    ),
  )
  expect(inSource.length).toBe(3)
  expect(toldUnder('Duplicates without an inbox')).toEqual(inSource)
})

it('the docstrings of the options tell the same defaults', () => {
  const files = ['options', 'claims', 'memory-duplicates'].map((file) => read(`src/inbox/${file}.ts`))
  const told = files.flatMap((text) =>
    [...text.matchAll(/Default ([\d,]*\d)[^\n]*\n {2}(\w+)\?:/g)].map(([, value = '', name = '']) => [
      name,
      value.replaceAll(',', ''),
    ]),
  )
  expect(told).toEqual([...toldUnder('Options'), ...toldUnder('Duplicates without an inbox')])
})
