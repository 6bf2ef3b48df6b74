/** An error of Node or of its `fetch`. Other errors can have members of any type with these names. */
export interface SystemError extends Error {
  code?: string
  address?: string
  port?: number
  hostname?: string
  socket?: { remoteAddress?: string; remotePort?: number }
}

/** Yields an error and its causes, and those in an AggregateError, which Node throws if all addresses of a host fail. */
export function* errorChain(thrown: unknown, depth = 0): Generator<SystemError> {
  if (!(thrown instanceof Error) || depth > 8) return
  yield thrown
  if (thrown instanceof AggregateError) for (const error of thrown.errors) yield* errorChain(error, depth + 1)
  yield* errorChain(thrown.cause, depth + 1)
}
