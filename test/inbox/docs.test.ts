import { readFileSync } from 'node:fs'
import { createMemoryDuplicates } from 'geohook/inbox'
import { expect, it } from 'vitest'
import { createDuplicates, type DuplicatesTable } from '../../src/inbox/duplicates.ts'
import { readInboxOptions } from '../../src/inbox/inbox-options.ts'

const DOCS = readFileSync(new URL('../../docs/inbox.md', import.meta.url), 'utf8')

/** Returns the numeric defaults of the options in the tables of a section. */
function defaultsUnder(heading: string): Record<string, number> {
  const section = DOCS.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.matchAll(/^\|.*?`(\w+)` \| `(\d+)` \|/gm)
  return Object.fromEntries([...rows].map(([, name = '', value]) => [name, Number(value)]))
}

it('docs/inbox.md states the defaults of the inbox options', () => {
  const { notify: _, ...defaults } = readInboxOptions({})
  expect(defaultsUnder('Options')).toEqual(defaults)
})

it('docs/inbox.md states the defaults of the duplicate stores', async () => {
  const { lease, retention, maxEntries = 0 } = defaultsUnder('Duplicates without an inbox')
  const used: number[] = []
  const table = {
    async claim(_, __, leaseNow) {
      used.push(leaseNow)
      return 'claimed'
    },
    async done(_, retentionNow) {
      used.push(retentionNow)
    },
    async close() {},
  } as Partial<DuplicatesTable> as DuplicatesTable
  const store = createDuplicates(table, {})
  await store.claim('a')
  await store.done('a')
  await store.close()
  expect(used).toEqual([lease, retention])

  const memory = createMemoryDuplicates()
  for (let number = 0; number <= maxEntries; number++) {
    await memory.claim(`${number}`)
    await memory.done(`${number}`)
    if (number === maxEntries - 1) expect(await memory.claim('0')).toBe('done')
  }
  expect(await memory.claim('0')).toBe('claimed')
  await memory.close()
})
