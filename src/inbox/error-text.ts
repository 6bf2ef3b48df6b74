import { errorChain, type SystemError } from '../shared/error-chain.ts'
import { createRedactor } from '../shared/redact.ts'

/** Maximum length of a stored error, and of one message in it, in characters. */
const MAX_LENGTH = 2_000
const MAX_MESSAGE = 1_000

/** Maximum number of errors in a chain of causes. */
const MAX_CHAIN = 10

/** A code or an address. Members with these names can have any value. */
const WORD = /^[\w.:%-]{1,253}$/

/** Hides the passwords and secret parameters of URLs. */
const redactor = /* @__PURE__ */ createRedactor([])

/**
 * Formats an error with its causes for storage: `TypeError: fetch failed, caused by Error: connect ECONNREFUSED
 * 127.0.0.1:80`. For an AggregateError, formats its first ten errors. Replaces NUL and unpaired surrogates, which some
 * stores reject. Never throws.
 */
export function toErrorText(error: unknown): string {
  try {
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
    return errors
      .slice(0, MAX_CHAIN)
      .map((one) => describeChain(one))
      .join('; ')
      .slice(0, MAX_LENGTH)
      .replaceAll('\0', ' ')
      .replace(/\p{Surrogate}/gu, '\ufffd')
  } catch {
    return 'an unprintable error'
  }
}

/** Describes an error and its causes, as far as they can be read. */
function describeChain(thrown: unknown): string {
  const texts = new Set<string>()
  try {
    for (const error of errorChain(thrown)) {
      texts.add(describe(error, error))
      if (texts.size === MAX_CHAIN) break
    }
  } catch {} // a getter or a proxy that throws
  return texts.size > 0 ? [...texts].join(', caused by ') : describe(thrown, {})
}

/** Adds the code and the address of a system error to its text, if they are missing there. */
function describe(thrown: unknown, { code, address, hostname, port, socket }: Partial<SystemError>): string {
  const text = redactor.text(String(thrown), MAX_MESSAGE)
  const host = address ?? hostname ?? socket?.remoteAddress
  const number = port ?? socket?.remotePort
  const missing = [code, host && number ? `${host}:${number}` : host].filter(
    (part) => typeof part === 'string' && WORD.test(part) && !text.includes(part),
  )
  return missing.length > 0 ? `${text} (${missing.join(' ')})` : text
}
