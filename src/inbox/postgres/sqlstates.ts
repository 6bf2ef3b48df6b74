/** SQLSTATEs of a missing table and a missing schema. */
const MISSING: readonly unknown[] = ['42P01', '3F000']

/** SQLSTATEs of a statement that another transaction kept from its end: it has changed nothing, and can be repeated. */
const RETRYABLE: readonly unknown[] = ['40001', '40P01']

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

export const isMissing = (error: unknown): boolean => MISSING.includes(codeOf(error))

/** True after a deadlock or a serialization failure. */
export const isRetryable = (error: unknown): boolean => RETRYABLE.includes(codeOf(error))

/**
 * True if the data caused the error. Classes: data exception, integrity constraint violation, program limit exceeded.
 */
export const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(String(codeOf(error)))
