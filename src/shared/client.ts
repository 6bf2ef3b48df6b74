import { must, type Rule } from '../options.ts'
import { concat } from './bytes.ts'
import { isObject, type Json } from './json.ts'

// What the clients of a service share: of its administration, and of its changes.

/** Sends one HTTP request, as the global `fetch` does. It must not follow redirects if `init.redirect` is `'manual'`. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>

/**
 * Creates a request. The token is never part of a URL, which logs and proxies store: a POST has it in its form, a GET in
 * the vendor's header.
 *
 * @param fields of a POST; without them, the request is a GET
 */
export function toRequest(
  fields: Readonly<Record<string, string>> | undefined,
  token: string | undefined,
  referer: string | undefined,
): RequestInit {
  const headers: Record<string, string> = referer === undefined ? {} : { Referer: referer }
  if (!fields)
    return {
      headers: token === undefined ? headers : { ...headers, 'X-Esri-Authorization': `Bearer ${token}` },
    }
  const body = new URLSearchParams({ ...fields, ...(token === undefined ? {} : { token }) })
  return { method: 'POST', headers, body }
}

/** Characters outside of ASCII are not valid in a header, and a user name would be a secret. */
function isReferer(value: unknown): boolean {
  const isAscii = typeof value === 'string' && /^[!-~]+$/.test(value)
  const isUrl = isAscii && /^(?:https?:\/\/)?(?:\[[\da-f:.]+\]|[^/?#@:[\]]+)(?::\d+)?(?:[/?#]|$)/i.test(value)
  return isUrl || value === VENDOR_REFERER
}

/** To this referer, `@esri/arcgis-rest-request` on Node binds the tokens of users. */
const VENDOR_REFERER = '@esri/arcgis-rest-js'

/** The rule of the option `referer`. */
export const REFERER: Rule = /* @__PURE__ */ must(
  'be an http or https URL without a user name, or a host, in ASCII without blanks',
  isReferer,
)

/**
 * Reads a body of at most `limit` bytes, after decompression.
 *
 * @param tooLarge creates the error for a larger one
 */
export async function readBytes(
  response: Response,
  limit: number,
  tooLarge: () => Error,
): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(response.headers.get('content-length')) > limit) {
    await discard(response)
    throw tooLarge()
  }
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = response.body?.getReader()
  try {
    for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
      size += next.value.length
      if (size > limit) throw tooLarge()
      chunks.push(next.value)
    }
  } finally {
    reader?.cancel().catch(() => {})
  }
  // With the empty chunk, a single chunk is copied too: a caller may detach the result, and the chunk is not ours.
  return concat([new Uint8Array(), ...chunks])
}

/** Frees the connection of a response whose body is not needed. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

/** The part of a URL that is safe to show: queries can contain tokens and signatures. */
export function showUrl(url: string | URL): string {
  if (!URL.canParse(String(url))) return 'not a URL'
  const { origin, protocol, pathname } = new URL(url)
  return `${origin === 'null' ? protocol : origin}${pathname}`
}

/** An error that a service returned, in either of its formats. */
export interface ServiceError {
  code: number
  message: string
}

/**
 * Finds the error in a response. The HTTP status of errors is mostly 200.
 *
 * @param isJob whether the response may describe a job, which can have an error besides its state
 */
export function findError(answer: Json, isJob: boolean): ServiceError | undefined {
  const { error, status, messages, code } = answer
  if (isJob && typeof status === 'string' && status !== 'error') return undefined
  if (typeof error === 'string') return { code: 0, message: toText(error, answer.error_description) }
  if (isObject(error))
    return {
      code: toCode(error.code),
      message: toText(error.message ?? error.description, error.details),
    }
  if (status === 'error') return { code: toCode(code), message: toText(undefined, messages) }
  return undefined
}

const toCode = (code: unknown): number =>
  typeof code === 'number' || typeof code === 'string' ? Number(code) || 0 : 0

function toText(message: unknown, details: unknown): string {
  const texts = [message, ...(Array.isArray(details) ? details : [details])]
  const unique = new Set(texts.filter((text) => typeof text === 'string' && text !== ''))
  return [...unique].join(' ') || 'no message'
}

/** The code of the system's error, which says more than "fetch failed". */
export function reasonOf(error: unknown): string {
  // A function that is passed as `fetch` can throw anything.
  const { cause, message } = Object(error) as { cause?: unknown; message?: unknown }
  const { code, message: reason } = Object(cause) as { code?: unknown; message?: unknown }
  const texts = [code, reason, message].filter((text) => typeof text === 'string')
  // Deno quotes the URL, and the query of a redirect is the signature of a file.
  return (texts[0] ?? 'unknown reason').replace(/\?\S*/g, '')
}

/** Rejects with the signal's reason as soon as it is aborted. */
export function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Waits. @throws the signal's reason when it is aborted */
export function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  return abortable(elapsed, signal).finally(() => clearTimeout(timer))
}

/** Range of the time between two requests, in milliseconds. */
export interface Interval {
  min: number
  max: number
}

/** Longer timers fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** The time before a repetition: it grows from `min` to `max`, and varies so that clients do not retry at the same moment. */
export const backoff = ({ min, max }: Interval, repetition: number): number =>
  Math.min(LONGEST_TIMER, Math.min(max, min * 1.5 ** repetition) * (0.75 + Math.random() / 2))

/** Seconds of the units of schedules; the longest month and year. */
const SECONDS = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
  year: 31_622_400,
}

/** The length of a schedule's window in seconds. */
export const secondsOf = (recurrence?: { interval?: number; frequency?: keyof typeof SECONDS }): number =>
  (recurrence?.interval ?? 0) * (SECONDS[recurrence?.frequency ?? 'second'] ?? 1)
