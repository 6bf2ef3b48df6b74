import type { Diagnosis } from '../../index.ts'
import { type CliError, usageError } from '../errors.ts'
import { type HeaderPairs, isHeaderName, isHeaderValue } from '../io/http.ts'
import { toRecord } from '../io/json.ts'

/** A recorded request whose secrets are redacted, except in its body. docs/cli.md describes the file format. */
export interface Capture {
  receivedAt: string
  method: string
  /** Path and query. */
  url: string
  headers: HeaderPairs
  body: Uint8Array
  outcome: { status: number; code?: string }
}

/** Converts a capture to the JSON object that is written to its file. */
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

// Matches every method that Node's HTTP parser accepts.
const METHOD = /^[A-Z][A-Z-]{0,19}$/

const isHeaders = (value: unknown): value is [string, string][] =>
  Array.isArray(value) &&
  value.every(
    (pair) =>
      Array.isArray(pair) &&
      pair.length === 2 &&
      typeof pair[0] === 'string' &&
      isHeaderName(pair[0]) &&
      typeof pair[1] === 'string' &&
      isHeaderValue(pair[1]),
  )

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
