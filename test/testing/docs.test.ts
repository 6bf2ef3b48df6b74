import { readFileSync } from 'node:fs'
import type { PayloadDetails, SignedRequest, SignerOptions } from 'geohook/testing'
import { expect, it } from 'vitest'

const text = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8')

/** Returns the names in the first cells of the rows in a table, which is identified by its first column. */
function firstCells(column: string): string[] {
  const table = text.split(`\n| ${column} |`)[1]?.split('\n\n')[0] ?? ''
  const cells = table.split('\n').slice(2)
  return cells.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  )
}

it('docs/testing.md lists every option of createSigner', () => {
  const options: Record<keyof SignerOptions, true> = {
    signatureKey: true,
    signatureHeader: true,
    encoding: true,
    prefix: true,
    contentType: true,
    signatureIn: true,
    percentEncoded: true,
    formPayload: true,
    payloadFormat: true,
  }
  expect(firstCells('option')).toEqual(Object.keys(options))
})

it('docs/testing.md lists every member of a signed request', () => {
  const members: Record<keyof SignedRequest, true> = { method: true, headers: true, body: true, bytes: true }
  expect(firstCells('member')).toEqual(Object.keys(members))
})

it('docs/testing.md lists every detail of createPayload', () => {
  const details: Record<keyof PayloadDetails, true> = {
    dialect: true,
    serviceName: true,
    serviceType: true,
    folderName: true,
    name: true,
    id: true,
    when: true,
    url: true,
    changesUrl: true,
    serverGens: true,
    serverUrl: true,
    jobId: true,
    taskName: true,
    orgId: true,
    layerIds: true,
    portalUrl: true,
    username: true,
    userId: true,
    source: true,
    itemId: true,
  }
  expect(firstCells('detail')).toEqual(Object.keys(details))
})
