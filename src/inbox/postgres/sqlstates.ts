const codeOf = (error: unknown): string => String((error as { code?: unknown }).code)

/** True if a table or a schema is missing. */
export const isMissing = (error: unknown): boolean => ['42P01', '3F000'].includes(codeOf(error))

/** True after a deadlock or a serialization failure: the statement has changed nothing, and can be repeated. */
export const isRetryable = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error))

/**
 * True if the data caused the error. Classes: data exception, integrity constraint violation, program limit exceeded.
 */
export const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(codeOf(error))
