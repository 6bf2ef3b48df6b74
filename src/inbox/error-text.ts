/** Maximum number of characters stored of an error. */
const MAX_LENGTH = 2_000

/**
 * Formats an error for storage: its name and message, also of each error in an AggregateError. Some values have no
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
