/** SQLSTATEs of a missing table and a missing schema. */
const MISSING: readonly unknown[] = ['42P01', '3F000']

/** SQLSTATEs raised when another process creates the same object concurrently. */
const CREATED_CONCURRENTLY: readonly unknown[] = ['23505', '42P06', '42P07']

const DEADLOCK = '40P01'

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

export const isMissing = (error: unknown): boolean => MISSING.includes(codeOf(error))

export const isCreatedConcurrently = (error: unknown): boolean => CREATED_CONCURRENTLY.includes(codeOf(error))

/** True if PostgreSQL cancelled the statement because of a deadlock. */
export const isDeadlock = (error: unknown): boolean => codeOf(error) === DEADLOCK

/**
 * True if the data caused the error. Classes: data exception, integrity constraint violation, program limit exceeded.
 */
export const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(String(codeOf(error)))
