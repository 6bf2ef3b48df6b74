import { type OptionNames, requireObserver } from '../options.ts'

/**
 * A step of an extraction: `submit` requests the changes, `poll` the state of a job, `fetch` its result file, and
 * `describe` the current generations of a service.
 */
export type StepName = 'submit' | 'poll' | 'fetch' | 'describe'

/** The result of a step. */
export interface StepResult {
  /** Number of HTTP requests, without redirects. */
  requests: number
  /** State of the job, after `poll`. */
  state?: string
  /** The error if the step failed. */
  error?: unknown
}

/** One step of an extraction, including the retries of its request. */
export interface Step {
  step: StepName
  /** URL of the feature service. */
  service: string
  /** Runs the step. Resolves when it has ended, and never rejects. */
  run: () => Promise<StepResult>
}

/** Functions that are called during extractions. Their return values and exceptions are ignored. */
export interface ChangesObserver {
  /**
   * Called when a step begins. If the observer calls `run` synchronously, the requests of the step are sent inside that
   * call, for example within an active span. Later calls of `run` return the same promise; if `run` is never called,
   * the step runs anyway.
   */
  around?(step: Step): unknown
}

const NAMES: OptionNames<ChangesObserver> = { around: true }

/** @throws {WebhookError} `config_invalid` */
export function requireChangesObserver(observer: ChangesObserver | undefined): void {
  requireObserver(observer, NAMES)
}

/** Runs a step inside the observer's `around`. It runs exactly once, whatever `around` does. */
export function observeStep<Result>(
  observer: ChangesObserver | undefined,
  { step, service, result }: { step: StepName; service: string; result: StepResult },
  run: () => Promise<Result>,
): Promise<Result> {
  if (!observer) return run()
  let running: Promise<Result> | undefined
  let shown: Promise<StepResult> | undefined
  const start = (): Promise<Result> => (running ??= Promise.resolve().then(run))
  const show = (): Promise<StepResult> =>
    (shown ??= start().then(
      () => ({ ...result }),
      (error: unknown) => ({ ...result, error }),
    ))
  try {
    Promise.resolve(observer.around?.({ step, service, run: show })).catch(() => {})
  } catch {}
  return start()
}
