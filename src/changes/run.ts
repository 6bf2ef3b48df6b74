import { ChangesError } from './errors.ts'
import { abortable } from './wait.ts'

/** One extraction: its time limit, and the state of its job. */
export interface Run {
  /** Aborted by the caller's signal, and at the time limit. */
  signal: AbortSignal
  /** Milliseconds until the time limit. */
  remaining(): number
  /** Last state of the job, for the error at the time limit. */
  state?: string | undefined
}

/**
 * Runs a function until the signal is aborted or the time has passed, whichever is first. Even a function that ignores
 * its signal does not delay the result.
 *
 * @param timeout in milliseconds
 * @throws {WebhookError} `changes_timeout`; the signal's reason if it is aborted
 */
export async function runWithin<Result>(
  timeout: number,
  signal: AbortSignal | undefined,
  extract: (run: Run) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const end = performance.now() + timeout
  const run: Run = { signal: controller.signal, remaining: () => end - performance.now() }
  const abort = (): void => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(timedOut(timeout, run.state)), timeout)
  signal?.addEventListener('abort', abort)
  try {
    return await abortable(extract(run), run.signal)
  } catch (error) {
    // Some runtimes reject with an error of their own when a request is aborted.
    run.signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

export function timedOut(timeout: number, state: string | undefined): ChangesError {
  const job = state === undefined ? '' : `; the state of the job was ${state.slice(0, 100)}`
  return new ChangesError('changes_timeout', {
    message: `the changes did not arrive within ${timeout} ms${job}`,
    hint: 'Try again later, or raise the option timeout. Keep it below the timeout of the inbox.',
    state,
  })
}
