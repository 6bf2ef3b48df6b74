import { readFileSync } from 'node:fs'
import type { ChangesCode, ChangesOptions } from 'geohook/changes'
import { expect, it } from 'vitest'

const DOCS = readFileSync(new URL('../../docs/changes.md', import.meta.url), 'utf8')

/** The first cells of the table under a heading, without backticks. */
const namesUnder = (heading: string): string[] => {
  const section = (DOCS.split(`\n## ${heading}\n`)[1] ?? '').split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name)
}

it('docs/changes.md lists every option of createChanges', () => {
  const options: Record<keyof ChangesOptions, true> = {
    token: true,
    referer: true,
    origins: true,
    inbox: true,
    timeout: true,
    limit: true,
    attachments: true,
    deletedFeatures: true,
    fieldsToCompare: true,
    geometryUpdates: true,
    outSR: true,
    pollInterval: true,
    fetch: true,
    observer: true,
  }
  expect(namesUnder('Options').sort()).toEqual(Object.keys(options).sort())
})

it('docs/changes.md lists every error code', () => {
  const codes: Record<ChangesCode, true> = {
    changes_url_refused: true,
    changes_token_rejected: true,
    changes_failed: true,
    changes_timeout: true,
    changes_malformed: true,
    changes_too_large: true,
    changes_unavailable: true,
    resync_required: true,
  }
  expect(namesUnder('Errors').sort()).toEqual(Object.keys(codes).sort())
})
