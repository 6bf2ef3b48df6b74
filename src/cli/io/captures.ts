import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Diagnosis } from '../../index.ts'
import { type HeaderPairs, isHeaderName, isHeaderValue } from '../../shared/headers.ts'
import { type CliError, usageError } from '../errors.ts'
import type { Io } from '../terminal/io.ts'
import { readJson, toRecord, unreadable } from './files.ts'

/** A recorded request whose secrets are redacted, except in its body. docs/cli.md describes the file format. */
export interface Capture {
  receivedAt: string
  method: string
  url: string
  headers: HeaderPairs
  body: Uint8Array
  outcome: { status: number; code?: string }
}

export function toCaptureJson({ receivedAt, method, url, headers, body, outcome }: Capture): object {
  const base64 = Buffer.from(body).toString('base64')
  return { geohook: 'capture', version: 1, receivedAt, method, url, headers, body: base64, outcome }
}

/** @throws {CliError} exit code 2; the message names the file and the invalid member */
export function parseCapture(value: unknown, file: string): Capture {
  const invalid = (member: string, rule: string): CliError =>
    usageError(
      `${file} is not a capture: ${member} must be ${rule}`,
      '"geohook listen --save" writes captures.',
    )
  const members = toRecord(value) ?? {}
  const { geohook, version, receivedAt, method, url, headers, body } = members
  if (geohook !== 'capture') throw invalid('geohook', '"capture"')
  if (version !== 1) throw invalid('version', '1')
  if (typeof receivedAt !== 'string' || Number.isNaN(Date.parse(receivedAt)))
    throw invalid('receivedAt', 'a time')
  if (typeof method !== 'string' || !METHOD.test(method)) throw invalid('method', 'the method of a request')
  if (typeof url !== 'string') throw invalid('url', 'text')
  if (!isHeaders(headers)) throw invalid('headers', 'a list of ["name", "value"]')
  const bytes = Buffer.from(String(body), 'base64')
  if (body !== bytes.toString('base64')) throw invalid('body', 'base64')
  const outcome = parseOutcome(members.outcome)
  if (!outcome) throw invalid('outcome', '{"status": number, "code": text, or absent}')
  return { receivedAt, method, url, headers, body: bytes, outcome }
}

/** Matches every method that Node's HTTP parser accepts. */
export const METHOD: RegExp = /^[A-Z][A-Z-]{0,19}$/

const isHeaders = (value: unknown): value is [string, string][] =>
  Array.isArray(value) && value.every((pair) => Array.isArray(pair) && pair.length === 2 && isHeader(pair))

const isHeader = ([name, value]: unknown[]): boolean =>
  typeof name === 'string' && isHeaderName(name) && typeof value === 'string' && isHeaderValue(value)

function parseOutcome(value: unknown): Capture['outcome'] | undefined {
  const { status, code } = toRecord(value) ?? {}
  if (typeof status !== 'number' || !Number.isInteger(status)) return undefined
  if (code !== undefined && typeof code !== 'string') return undefined
  const outcome = { status: status + 0 } // JSON has -0, which would be written as 0
  return code === undefined ? outcome : { ...outcome, code }
}

/** Returns a note if the sender may have sent its key as plain text instead of a signature, otherwise undefined. */
export const noteOnSecretHeader = ({ cause }: Diagnosis, headers: HeaderPairs): string | undefined =>
  cause === 'signature_header_missing' && headers.some(([name]) => name.toLowerCase() === 'secret')
    ? 'The request has a header secret. Organization webhooks send their key in it as plain text and do not sign: no setting makes them sign. To receive them, use the profile portal.'
    : undefined

/** Maximum file size in bytes: enough for a 64 MiB body in base64 plus the other members. */
const MAX_BYTES = 100 * 1024 * 1024

export interface CaptureFile extends Capture {
  file: string
}

/**
 * Creates the folder for captures if it is missing. Does not create its parents, because Node's recursive `mkdir`
 * never returns for a path in `/proc`.
 */
export async function requireFolder(path: string): Promise<void> {
  const invalid = (why: string): CliError =>
    usageError(`cannot save in ${path}: ${why}`, 'Give another folder.')
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw invalid('its parent folder does not exist')
    if (code !== 'EEXIST') throw invalid(code ?? message)
    if (!(await stat(path)).isDirectory()) throw invalid('it is a file')
  }
}

/** Returns the path for a new capture. File names sort by time of arrival. */
export const toCaptureFile = (folder: string, { receivedAt }: Capture, label: string): string =>
  join(folder, `${receivedAt.replaceAll(':', '-')}-${label}.json`)

/**
 * Writes a capture file that only its owner can read, because a payload can be confidential.
 *
 * @throws EEXIST if the file exists already
 */
export async function saveCapture(file: string, capture: Capture): Promise<void> {
  // Writes to a .part file first: if the disk is full, an incomplete .json file would make the whole folder unreadable.
  const part = `${file}.${randomUUID()}.part`
  try {
    await writeFile(part, `${JSON.stringify(toCaptureJson(capture), null, 2)}\n`, { flag: 'wx', mode: 0o600 })
    await link(part, file)
  } finally {
    await rm(part, { force: true })
  }
}

/**
 * Reads captures from files and folders. In a folder, it reads all `.json` files, sorted by name.
 *
 * @throws {CliError} exit code 2; the message names the file and the invalid member
 */
export async function readCaptures(io: Io, paths: readonly string[]): Promise<CaptureFile[]> {
  const files = (await Promise.all(paths.map(filesIn))).flat()
  const captures: CaptureFile[] = []
  for (const file of files)
    captures.push({ file, ...parseCapture(await readJson(io, file, MAX_BYTES), file) })
  return captures
}

async function filesIn(path: string): Promise<string[]> {
  if (path === '-') return [path]
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort()
    if (names.length > 0) return names.map((name) => join(path, name))
  } catch (error) {
    throw unreadable(path, error)
  }
  throw usageError(
    `${path} contains no captures`,
    'Captures end in .json; "geohook listen --save" writes them.',
  )
}
