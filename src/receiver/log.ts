import { withCauses } from '#runtime'
import type { WebhookError } from '../errors.ts'
import type { Observer } from './types.ts'

/**
 * Minimum milliseconds between two log lines about the same code. Without it, anyone could fill the log with
 * rejections.
 */
const MIN_INTERVAL = 60_000

/**
 * Maximum length of an error and of a path in a log line, in characters. They are limited because senders choose the
 * path, and messages can quote their data.
 */
const MAX_LENGTH = 500
const MAX_PATH = 200

/**
 * Emits a process warning, which Node, Bun and Deno print to standard error with its code. In a worker, writes to the
 * console instead. Ignores exceptions, so that a broken log cannot fail a delivery.
 */
export function warn(message: string, code: string): void {
  const host = (globalThis as { process?: { emitWarning?: (text: string, options: object) => void } }).process
  try {
    if (host?.emitWarning) host.emitWarning(message, { type: 'GeohookWarning', code })
    // biome-ignore lint/suspicious/noConsole: the console is the only log that a worker has.
    else console.warn(`GeohookWarning [${code}]: ${message}`)
  } catch {}
}

interface Logged {
  error: WebhookError
  request?: { url: string }
}

/** The default log of a receiver: warns about rejections and failures, at most once a minute per code. */
export function createLog(clock: () => number): Observer {
  const lines = new Map<string, { at: number; suppressed: number }>()

  function log({ error, request }: Logged, command = ''): void {
    // `key_unknown` and `signature_mismatch` share one rate limit. With separate limits, response times would reveal
    // whether there is a key.
    const subject = error.code === 'key_unknown' ? 'signature_mismatch' : error.code
    const line = lines.get(subject)
    if (line && clock() - line.at < MIN_INTERVAL) {
      line.suppressed++
      return
    }
    const suppressed = line?.suppressed ? ` (${line.suppressed} more since the last warning)` : ''
    lines.set(subject, { at: clock(), suppressed: 0 })
    const path = request?.url ? `${pathOf(request.url)}: ` : ''
    const next = error.hint.includes('npx') ? '' : command
    warn(`${path}${describe(error)}${suppressed}. ${error.hint}${next}`.trim(), error.code)
  }

  return {
    refused: (seen) => log(seen, ` Run "npx geohook explain --code ${seen.error.code}".`),
    failed: (seen) => log(seen),
  }
}

function describe(error: WebhookError): string {
  // The causes of `payload_invalid` are plain objects, and its message is that of the first one.
  const hasCauses = Object.hasOwn(error, 'cause') && error.code !== 'payload_invalid'
  const causes = hasCauses ? causesOf(error).slice(0, 3) : []
  const text = [error.message, ...causes].map(toText).join(': ')
  return printable(text).slice(0, MAX_LENGTH).replace(/\.$/, '')
}

/** Returns the path of a URL without its query, which may contain secrets. Encodes spaces, so that a path cannot look like text. */
function pathOf(url: string): string {
  const [, path] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? []
  return printable(path || '/')
    .slice(0, MAX_PATH)
    .replaceAll(' ', '%20')
}

/**
 * Percent-encodes control characters, line separators and characters that change the direction of text, so that a
 * sender cannot control the terminal or fake another line.
 */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, encodeURI)

function toText(thrown: unknown): string {
  try {
    return withCauses(thrown)
  } catch {
    return '?' // String() throws for some values, such as Object.create(null)
  }
}

/** Returns the errors that caused an error: those of an `AggregateError`, otherwise only the cause itself. */
export function causesOf({ cause }: WebhookError): readonly unknown[] {
  try {
    if (cause instanceof AggregateError) return cause.errors
  } catch {} // a thrown proxy may throw
  return [cause]
}
