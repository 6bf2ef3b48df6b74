import { configInvalid } from '../../errors.ts'
import { type OptionNames, requireKnownOptions } from '../../options.ts'
import { type ChangesError, showUrl } from '../errors.ts'
import type { Origins } from '../origins.ts'
import type { CopyService } from './copy-service.ts'

/** Options of {@link ChangesClient.catchUp}. */
export interface CatchUpOptions {
  /**
   * URLs of feature services (`https://…/FeatureServer`) in the allowed origins, spelled as in the `changesUrl` of their
   * deliveries. At least one.
   */
  services: readonly string[]
  /**
   * Milliseconds between two polls, 100 to 2^31 - 1. Default: services are polled only at the start and when `poll` is
   * called.
   */
  every?: number | undefined
  /**
   * Copies all features of a service. Called when its changes alone are not enough: at the first start (`first_start`),
   * if the service no longer keeps all changes since the last handled generation (`purged`), or if it was restored or
   * replaced (`reset`). Without this function, the first start begins at the current generations, and the other two
   * cases are reported to `onError` as `resync_required`.
   */
  resync?: CopyService | undefined
  /**
   * Called with each error of a poll: a `WebhookError` with one of the codes of `geohook/changes`, or the error that
   * `resync` threw. Default: emits a process warning whenever the error code of a service changes.
   */
  onError?: ((error: unknown, service: string) => unknown) | undefined
}

const NAMES: OptionNames<CatchUpOptions> = { services: true, every: true, resync: true, onError: true }

/** @throws {WebhookError} `config_invalid` */
export function readCatchUpOptions(options: CatchUpOptions, origins: Origins): CatchUpOptions {
  requireKnownOptions(options, NAMES)
  const { services, every, resync, onError } = options ?? {}
  if (!Array.isArray(services) || services.length === 0)
    throw configInvalid('catchUp: services must be an array with at least one URL of a feature service')
  if (every !== undefined && !(Number.isInteger(every) && every >= 100 && every < 2 ** 31))
    throw configInvalid('catchUp: every must be a whole number of milliseconds, 100 to 2147483647')
  for (const [name, value] of Object.entries({ resync, onError }))
    if (value !== undefined && typeof value !== 'function')
      throw configInvalid(`catchUp: ${name} must be a function`)
  return {
    services: [...new Set(services.map((url) => readServiceUrl(url, origins)))],
    every,
    resync,
    onError,
  }
}

/**
 * Reads the URL of a feature service, and normalizes it as `parseChangesUrl` does.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readServiceUrl(text: string, origins: Origins): string {
  let url: URL
  try {
    url = origins.require(text, 'URL of the service')
  } catch (error) {
    const { message, hint } = error as ChangesError
    throw configInvalid(message, hint)
  }
  if (url.search || !/\/FeatureServer\/?$/i.test(url.pathname))
    throw configInvalid(`the URL of the service ${showUrl(url)} must end with /FeatureServer`)
  return url.href.replace(/\/$/, '')
}
