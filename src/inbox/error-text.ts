import { withCauses } from '#runtime'

/** Maximum length of a stored error, in characters. */
const MAX_LENGTH = 2_000

/**
 * Formats the name, message and system causes of an error for storage. For an AggregateError, includes its first ten
 * errors. Replaces NUL and unpaired surrogates, which some stores reject. Never throws.
 */
export function toErrorText(error: unknown): string {
  try {
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
    return errors
      .slice(0, 10)
      .map((cause) => withCauses(cause).slice(0, MAX_LENGTH))
      .join('; ')
      .slice(0, MAX_LENGTH)
      .replaceAll('\0', ' ')
      .replace(/\p{Surrogate}/gu, '\ufffd')
  } catch {
    return 'an unprintable error'
  }
}
