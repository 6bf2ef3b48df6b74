import { readFileSync, statSync } from 'node:fs'
import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createDuplicates, type DuplicatesTable } from '../../src/inbox/duplicates.ts'
import { readInboxOptions } from '../../src/inbox/inbox-options.ts'
import { readWorkOptions } from '../../src/inbox/method-options.ts'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { deliver, KEY } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'

const DOCS = readFileSync(new URL('../../docs/inbox.md', import.meta.url), 'utf8')

/** Returns the defaults of the options in the tables of a section: numbers, and texts in quotes. */
function defaultsUnder(heading: string): Record<string, unknown> {
  const section = DOCS.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.matchAll(/^\|.*?`(\w+)` \| `(\d+|'\w+')` \|/gm)
  return Object.fromEntries(
    [...rows].map(([, name = '', value = '']) => [
      name,
      value.startsWith("'") ? value.slice(1, -1) : Number(value),
    ]),
  )
}

it('docs/inbox.md states the defaults of the inbox options', () => {
  const { notify: _, ...defaults } = readInboxOptions({})
  expect(defaultsUnder('Options')).toEqual(defaults)
})

it('docs/inbox.md states the default of coalesce.wait', () => {
  const receiver = createReceiver({ signatureKey: KEY })
  const { wait } = readWorkOptions(receiver, { coalesce: { by: 'service' } })
  expect(defaultsUnder('Coalescing')).toEqual({ wait })
})

it('docs/inbox.md states the defaults of the duplicate stores', async () => {
  const { lease, retention, ...others } = defaultsUnder('Duplicates without an inbox')
  const maxEntries = Number(others.maxEntries)
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

it('a delivery in SQLite needs less than 1 KiB in addition to its body', { tags: ['sqlite'] }, async () => {
  expect(DOCS).toContain('SQLite stores the body and less than 1 KiB of other data')
  const folder = createFolder()
  onTestFinished(folder.remove)
  const path = folder.fileIn('inbox.db')
  const inbox = createSqliteInbox({ path })
  const receiver = createReceiver({ signatureKey: KEY, inbox })
  const payloads = Array.from({ length: 1_000 }, () => uniquePayload())
  await Promise.all(payloads.map((payload) => deliver(receiver, payload)))
  expect((await inbox.stats()).waiting).toBe(1_000)
  await inbox.close()
  const total = payloads.reduce((sum, { length }) => sum + length, 0)
  expect((statSync(path).size - total) / 1_000).toBeLessThan(1_024)
})
