import { readFileSync } from 'node:fs'
import type { AdminCode, AdminOptions } from 'geohook/admin'
import { expect, it } from 'vitest'

const DOCS = readFileSync(new URL('../../docs/admin.md', import.meta.url), 'utf8')

/** The first cells of the tables under a heading, without backticks. */
const namesUnder = (heading: string): string[] => {
  const section = (DOCS.split(`\n## ${heading}\n`)[1] ?? '').split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name)
}

it('docs/admin.md lists every option of createAdmin', () => {
  const options: Record<keyof AdminOptions, true> = {
    url: true,
    token: true,
    product: true,
    portal: true,
    referer: true,
    timeout: true,
    fetch: true,
  }
  expect(namesUnder('Connect').sort()).toEqual(Object.keys(options).sort())
})

it('docs/admin.md lists every error code', () => {
  const codes: Record<AdminCode, true> = {
    admin_unauthorized: true,
    admin_forbidden: true,
    admin_not_found: true,
    admin_refused: true,
    admin_conflict: true,
    admin_not_applied: true,
    admin_unknown: true,
    admin_unsupported: true,
    admin_ambiguous: true,
    admin_malformed: true,
    admin_unavailable: true,
  }
  expect(namesUnder('Errors').sort()).toEqual(Object.keys(codes).sort())
})
