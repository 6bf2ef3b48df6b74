import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CliError, usageError } from '../errors.ts'
import { readJson, unreadable } from '../io/files.ts'
import type { HeaderPairs } from '../io/http.ts'
import { toRecord } from '../options/values.ts'

/** One request as it arrived. It holds no key. docs/cli.md describes the file. */
export interface Capture {
  receivedAt: string
  method: string
  /** Path and query. */
  url: string
  headers: HeaderPairs
  body: Uint8Array
  outcome: { status: number; code?: string }
}

/** A body of 64 MiB as base64, and the rest. */
const MAX_CAPTURE = 100 * 1024 * 1024

/** A capture and the file that it is in. */
export interface CaptureFile extends Capture {
  file: string
}

/**
 * Makes the folder for captures, where it is not there. One level only: Node tries for ever to make folders in `/proc`
 * with all that is above them.
 *
 * @throws {CliError} exit code 2
 */
export async function requireFolder(path: string): Promise<void> {
  const wrong = (why: string): CliError =>
    usageError(`cannot save in ${path}: ${why}`, 'Give another folder.')
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw wrong('the folder that it should be in is not there')
    if (code !== 'EEXIST') throw wrong(code ?? message)
    if (!(await stat(path)).isDirectory()) throw wrong('it is a file')
  }
}

/** The path of the file for a capture in a folder. Names sort by time. */
export const toCaptureFile = (folder: string, { receivedAt }: Capture, label: string): string =>
  join(folder, `${receivedAt.replaceAll(':', '-')}-${label}.json`)

/** Writes a capture. Never over another one: it throws EEXIST. For its owner only: a payload can be confidential. */
export async function saveCapture(file: string, capture: Capture): Promise<void> {
  // Half a file, of a disk that is full, would keep the others in the folder from being read.
  const part = `${file}.${randomUUID()}.part`
  try {
    await writeFile(part, `${JSON.stringify(toCaptureJson(capture), null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    await link(part, file)
  } finally {
    await rm(part, { force: true })
  }
}

/** What the file of a capture holds. */
export function toCaptureJson({ receivedAt, method, url, headers, body, outcome }: Capture): object {
  return {
    geohook: 'capture',
    version: 1,
    receivedAt,
    method,
    url,
    headers,
    body: Buffer.from(body).toString('base64'),
    outcome,
  }
}

/**
 * Reads captures: files, or folders with all their `.json` files in the order of their names.
 *
 * @throws {CliError} exit code 2, naming the file and the member that is wrong
 */
export async function readCaptures(paths: readonly string[]): Promise<CaptureFile[]> {
  const files = (await Promise.all(paths.map(filesOf))).flat()
  const captures: CaptureFile[] = []
  for (const file of files) captures.push({ file, ...toCapture(await readJson(file, MAX_CAPTURE), file) })
  return captures
}

async function filesOf(path: string): Promise<string[]> {
  if (path === '-') return [path]
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort()
    if (names.length > 0) return names.map((name) => join(path, name))
  } catch (error) {
    throw unreadable(path, error)
  }
  throw usageError(
    `there are no captures in ${path}`,
    'Captures end in .json; "geohook listen --save" makes them.',
  )
}

function toCapture(value: unknown, file: string): Capture {
  const wrong = (member: string, rule: string): CliError =>
    usageError(`${file} is no capture: ${member} must be ${rule}`, '"geohook listen --save" makes captures.')
  const members = toRecord(value) ?? {}
  const { geohook, version, receivedAt, method, url, headers, body } = members
  if (geohook !== 'capture') throw wrong('geohook', '"capture"')
  if (version !== 1) throw wrong('version', '1')
  if (typeof receivedAt !== 'string' || Number.isNaN(Date.parse(receivedAt)))
    throw wrong('receivedAt', 'a time')
  if (typeof method !== 'string' || !METHOD.test(method)) throw wrong('method', 'the method of a request')
  if (typeof url !== 'string') throw wrong('url', 'text')
  if (!isHeaders(headers)) throw wrong('headers', 'a list of ["name", "value"]')
  const bytes = Buffer.from(String(body), 'base64')
  if (body !== bytes.toString('base64')) throw wrong('body', 'base64')
  const outcome = toOutcome(members.outcome)
  if (!outcome) throw wrong('outcome', '{"status": number, "code": text, or absent}')
  return { receivedAt, method, url, headers, body: bytes, outcome }
}

// Those that Node's parser lets through.
const METHOD = /^[A-Z][A-Z-]{0,19}$/
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
// What RFC 9110 section 5.5 allows, as Node reads it: one character for each byte.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

const isHeaders = (value: unknown): value is [string, string][] =>
  Array.isArray(value) &&
  value.every(
    (pair) =>
      Array.isArray(pair) &&
      pair.length === 2 &&
      typeof pair[0] === 'string' &&
      NAME.test(pair[0]) &&
      typeof pair[1] === 'string' &&
      VALUE.test(pair[1]),
  )

function toOutcome(value: unknown): Capture['outcome'] | undefined {
  const { status, code } = toRecord(value) ?? {}
  if (typeof status !== 'number' || !Number.isInteger(status)) return undefined
  if (code !== undefined && typeof code !== 'string') return undefined
  return code === undefined ? { status } : { status, code }
}
