import { configInvalid } from '../errors.ts'

/** The second argument of `of`: the third argument of a handler, or only a signal. */
export interface ChangesContext {
  /** Aborts the call, including its requests and pauses. */
  signal?: AbortSignal | undefined
  /** Runs a function once the handlers have succeeded. */
  onSuccess?: ((run: () => unknown) => void) | undefined
}

/** @throws {WebhookError} `config_invalid` */
export function requireContext(context: ChangesContext | undefined, needsSuccess: boolean): void {
  if (context !== undefined && (typeof context !== 'object' || context === null))
    throw configInvalid(
      'the second argument of of() must be the third argument of the handler, or { signal }',
    )
  if (!needsSuccess || typeof context?.onSuccess === 'function') return
  throw configInvalid(
    'with an inbox, of() needs the function onSuccess',
    'Pass the third argument of the handler as a whole: of(event, context), not of(event, { signal }).',
  )
}

/** Returns the promise of the same call in the same attempt, or makes the call. */
type Remember<Result> = (
  context: ChangesContext | undefined,
  key: string,
  call: () => Promise<Result>,
) => Promise<Result>

/**
 * Creates a cache of the calls of each attempt, because a handler is called for several events of a payload that have
 * the same changes. `onSuccess` identifies the attempt, because a signal can outlive it.
 */
export function createRemember<Result>(): Remember<Result> {
  const attempts = new WeakMap<object, Map<string, Promise<Result>>>()
  return ({ onSuccess } = {}, key, call) => {
    if (!onSuccess) return call()
    const calls = attempts.get(onSuccess) ?? new Map<string, Promise<Result>>()
    attempts.set(onSuccess, calls)
    const known = calls.get(key)
    if (known) return known
    const result = call()
    calls.set(key, result)
    result.catch(() => calls.delete(key))
    return result
  }
}
