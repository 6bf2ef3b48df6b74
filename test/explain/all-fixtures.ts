import { readdirSync, readFileSync } from 'node:fs'
import type { Cause, ExplainOptions } from 'geohook'
import { KEY } from './table.ts'

/** A request that a runtime signed, from one of the committed files. */
export interface AnyFixture {
  /** The file without its extension, such as `key-python`. */
  file: string
  name: string
  cause: Cause
  also?: Cause[] | undefined
  options: ExplainOptions
}

/** A row of a file. Each kind of file has only some of the members. */
interface Raw {
  name: string
  cause: Cause
  also?: Cause
  body: string
  /** The receiver's key in base64, in files of keys. */
  got: string
  /** The same in files of rows. */
  key: string
  second: string
  signature: string
  headers: Record<string, string>
  method?: string
  url?: string
}

const FOLDER = new URL('fixtures/', import.meta.url)
const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64')

/** How each kind of file describes a request. */
const READ: Readonly<Record<string, (row: Raw) => ExplainOptions>> = {
  scheme: ({ body, headers, method, url }) => ({ body, headers, method, url, signatureKey: KEY }),
  key: ({ got, signature }) => ({
    body: '{"events":[]}',
    headers: { 'x-service': signature },
    signatureKey: fromBase64(got),
  }),
  body: ({ body, signature }) => ({
    body: fromBase64(body),
    headers: { 'x-service': signature },
    signatureKey: KEY,
  }),
  rows: ({ key, second, body, headers, method, url }) => ({
    body: fromBase64(body),
    headers,
    method,
    url,
    signatureKey: [key, second].filter(Boolean).map(fromBase64),
  }),
}

/** Reads the fixtures of signatures from all runtimes. */
export function readFixtures(): AnyFixture[] {
  return readdirSync(FOLDER)
    .filter((name) => /^(scheme|key|body|rows)-\w+\.json$/.test(name))
    .sort()
    .flatMap((name) => {
      const file = name.replace('.json', '')
      const read = READ[file.split('-')[0] as string] as (row: Raw) => ExplainOptions
      const rows: Raw[] = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))
      return rows.map((row) => ({
        file,
        name: row.name,
        cause: row.cause,
        also: row.also && [row.also],
        options: read(row),
      }))
    })
}
