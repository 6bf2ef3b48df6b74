/** Maximum length of a stored error, in characters. */
const MAX_LENGTH = 2_000

/**
 * Formats the name and message of an error for storage, including each error in an AggregateError. Some values have no
 * string form, and some stores reject NUL and unpaired surrogates.
 */
export function toErrorText(error: unknown): string {
  try {
    const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
    return errors
      .slice(0, 10)
      .map((cause) => String(cause).slice(0, MAX_LENGTH))
      .join('; ')
      .slice(0, MAX_LENGTH)
      .replaceAll('\0', ' ')
      .replace(/\p{Surrogate}/gu, '\ufffd')
  } catch {
    return 'an unprintable error'
  }
}
