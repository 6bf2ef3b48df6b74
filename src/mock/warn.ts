/** Tells of an error that nobody waits for. Node warns of errors and texts, and throws where it is given anything else. */
export const warn = (error: unknown): void =>
  process.emitWarning(error instanceof Error ? error : String(error))
