import { WebhookError } from '../errors.ts'

/** Codes of errors that say nothing about the package: the process or the machine lacks a resource. */
const TEMPORARY = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO']

/** The packages of a store cannot be loaded, so that it will never work in this process. */
export class MissingDriver extends WebhookError {}

/** Creates the error for packages that cannot be loaded. The message says what to install, because logs show no hints. */
export function driverError(message: string, cause: unknown): Error {
  const { code, message: reason } = Object(cause) as { code?: unknown; message?: unknown }
  const isTemporary = TEMPORARY.some((name) => code === name || String(reason).includes(name))
  if (isTemporary) return new Error(message, { cause })
  return new MissingDriver('config_invalid', { message, hint: '', cause })
}

/**
 * Loads the packages of a store in the background, when the store is created, and again for each call after a failure.
 * Loading them with the first delivery could be too late: if the process has no free file descriptor, the import fails,
 * and Node 20 never repeats a failed import.
 *
 * If a package is missing, the error is an unhandled rejection, so that the process does not start and then answer 503
 * to every delivery; unless a call of the store is waiting for the packages, which then gets the error.
 *
 * @returns a function that resolves with the packages
 */
export function preload<Packages>(load: () => Promise<Packages>): () => Promise<Packages> {
  let isAwaited = false
  let loading: Promise<Packages> | undefined
  const loadOnce = (): Promise<Packages> => {
    loading ??= load().catch((error) => {
      loading = undefined
      throw error
    })
    return loading
  }
  loadOnce().catch((error) => {
    if (!isAwaited && error instanceof MissingDriver) throw error
  })
  return () => {
    isAwaited = true
    return loadOnce()
  }
}
