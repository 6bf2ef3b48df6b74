import type { WebhookError } from '../errors.ts'
import type { Observer } from './observer.ts'

/** Milliseconds between two lines about the same code: strangers must not be able to fill a log. */
const QUIET = 60_000

/**
 * Says something to whoever runs the process: as a process warning, which Node, Bun and Deno print to standard error
 * with its code, or on the console of a worker.
 */
export function warn(message: string, code: string): void {
  const host = (globalThis as { process?: { emitWarning?: (text: string, options: object) => void } }).process
  if (host?.emitWarning) host.emitWarning(message, { type: 'GeohookWarning', code })
  // biome-ignore lint/suspicious/noConsole: the console is the only log that a worker has.
  else console.warn(`GeohookWarning [${code}]: ${message}`)
}

/** What a receiver does without an observer: it warns of refusals and failures, at most once a minute for each code. */
export function createLog(clock: () => number): Observer {
  const lines = new Map<string, { at: number; more: number }>()

  function log({ error }: { error: WebhookError }): void {
    // One line for both: a stranger must not learn from the time that a line takes which one it would be.
    const subject = error.code === 'key_unknown' ? 'signature_mismatch' : error.code
    const line = lines.get(subject)
    if (line && clock() - line.at < QUIET) {
      line.more++
      return
    }
    const more = line?.more ? ` (and ${line.more} more)` : ''
    lines.set(subject, { at: clock(), more: 0 })
    warn(`${describe(error)}${more} ${error.hint}`.trim(), error.code)
  }

  return { refused: log, failed: log }
}

/** Characters of an error's text, at most: messages quote what senders sent. */
const LENGTH = 500

function describe({ message, cause }: WebhookError): string {
  const errors = [(cause as Partial<AggregateError> | undefined)?.errors ?? cause ?? []].flat()
  const text = [message, ...errors.slice(0, 3)].map(print).join(': ')
  return `${printable(text).slice(0, LENGTH).replace(/\.$/, '')}.`
}

/**
 * Percent-encodes the characters that begin a line, move the cursor, or turn the direction of text: what strangers sent
 * must not draw on a terminal, nor look like another line.
 */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, encodeURI)

/** Not every value can be made a text. */
function print(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return '?'
  }
}
