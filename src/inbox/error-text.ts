import { errorChain, type SystemError } from '../shared/error-chain.ts'
import { createRedactor } from '../shared/redact.ts'

/** Maximum length of a stored error, and of one message in it, in characters. */
const MAX_LENGTH = 2_000
const MAX_MESSAGE = 1_000

/** Maximum number of errors of an AggregateError, and in a chain of causes. */
const MAX_ERRORS = 10

/** A code of the system, of Node or of a database, and an address. Other members of a cause could quote a secret. */
const CODE = /^([A-Z][A-Z\d_]{1,40}|[A-Z\d]{5})$/
const ADDRESS = /^[\w.:%-]{1,253}$/

/** Hides the passwords and secret parameters of URLs. */
const redactor = /* @__PURE__ */ createRedactor([])

/**
 * Formats an error for storage, with the codes and the addresses of its causes: `TypeError: fetch failed (ECONNREFUSED
 * 127.0.0.1:80)`. For an AggregateError, formats its first ten errors. Replaces NUL and unpaired surrogates, which some
 * stores reject. Never throws.
 */
export function toErrorText(error: unknown): string {
  try {
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
    return errors
      .slice(0, MAX_ERRORS)
      .map((one) => describe(one))
      .join('; ')
      .slice(0, MAX_LENGTH)
      .replaceAll('\0', ' ')
      .replace(/\p{Surrogate}/gu, '\ufffd')
  } catch {
    return 'an unprintable error'
  }
}

/** Maximum length of the kind of an error in characters. */
const MAX_KIND = 200

/** An id or a long number, or a word of the letters a to f. */
const VARIABLE = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{8,}|\d{4,}/gi

/**
 * Returns an error without the parts that differ between similar errors: replaces each id and long number by `*`, and white
 * space by one blank.
 */
export const toErrorKind = (text: string): string =>
  text
    .replace(VARIABLE, (word) => (/\d/.test(word) ? '*' : word))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, MAX_KIND)
    .replace(/\p{Surrogate}$/u, '')

function describe(thrown: unknown): string {
  const text = redactor.text(String(thrown), MAX_MESSAGE)
  const causes = new Set<string>()
  let left = MAX_ERRORS
  try {
    for (const error of errorChain(thrown)) {
      const cause = causeOf(error)
      // An AggregateError repeats the code of its errors.
      if (cause && !('errors' in error) && !text.includes(cause)) causes.add(cause)
      if (--left === 0) break
    }
  } catch {} // a getter or a proxy that throws
  return causes.size > 0 ? `${text} (${[...causes].join(', ')})` : text
}

function causeOf({ code, address, hostname, port, socket }: SystemError): string | undefined {
  if (!CODE.test(String(code))) return undefined
  const host = address ?? hostname ?? socket?.remoteAddress
  if (typeof host !== 'string' || !ADDRESS.test(host)) return String(code)
  const number = port ?? socket?.remotePort
  return Number.isInteger(number) ? `${code} ${host}:${number}` : `${code} ${host}`
}
