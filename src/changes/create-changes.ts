import { blameCaller, configInvalid } from '../errors.ts'
import type { CatchUp } from './catch-up.ts'
import type { Engine } from './engine.ts'
import {
  type CatchUpOptions,
  type ChangesOptions,
  readCatchUpOptions,
  readOptions,
  readServiceUrl,
} from './options.ts'
import type { Attachment, Changes, ChangesSource, CopyService } from './types.ts'
import { type ChangesContext, requireContext } from './types.ts'

/** Gets the changes behind events. */
export interface ChangesClient {
  /**
   * Extracts the changes behind an event, a list of events or a delivery. Handlers that request the same changes in one
   * attempt and pass their third argument share one extraction, and get the same object.
   *
   * @param context the handler's third argument as a whole; required with the option `inbox`
   * @throws {WebhookError} `changes_url_refused`, `changes_token_rejected`, `changes_failed`, `changes_timeout`,
   * `changes_malformed`, `changes_too_large`, `changes_unavailable`, `resync_required`, `config_invalid`; the abort
   * reason if the signal is aborted
   */
  of<Attributes extends object = Record<string, unknown>>(
    source: ChangesSource,
    context?: ChangesContext,
  ): Promise<Changes<Attributes>>
  /**
   * Opens the bytes of an attachment as a stream. The option `timeout` limits the time until the stream begins.
   *
   * @throws {WebhookError} `changes_url_refused`, `changes_token_rejected`, `changes_failed`, `changes_timeout`,
   * `changes_malformed`, `changes_unavailable`, `config_invalid`; the abort reason if the signal is aborted, even while
   * the stream is read
   */
  download(
    attachment: Attachment,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<ReadableStream<Uint8Array>>
  /**
   * Polls the current generations of services, at the start and at intervals. For changes that no delivery announced,
   * it puts a delivery with one event `FeaturesEdited` of the kind `caught_up` into the inbox, whose workers run the
   * handlers. The first poll does this at once; later polls wait until the next one, because a delivery may be on its
   * way. Requires the option `inbox`.
   *
   * @throws {WebhookError} `config_invalid`
   */
  catchUp(options: CatchUpOptions): CatchUp
  /**
   * Copies all features of a service with your function. Later extractions continue from the generations that were
   * current before the copy. Requires the option `inbox`.
   *
   * @param service URL of the feature service
   * @param copy called once; reads all features, for example with queries
   * @throws {WebhookError} `config_invalid`, and the codes of {@link of}; any error that `copy` throws
   */
  resync(service: string, copy: CopyService, context?: { signal?: AbortSignal | undefined }): Promise<void>
}

/**
 * Creates a client that gets the changed features behind the events of feature services.
 *
 * @throws {WebhookError} `config_invalid`
 *
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createChanges } from 'geohook/changes'
 *
 * const changes = createChanges({ token: 'secret', origins: ['https://gis.example.com'] })
 *
 * createReceiver({ signatureKey: 'test' }).on('FeaturesEdited', async (event, delivery, context) => {
 *   const { layers } = await changes.of(event, context)
 *   for (const { id, adds, updates, deletes } of layers) console.log(id, adds, updates, deletes.ids)
 * })
 * ```
 */
export function createChanges(options: ChangesOptions): ChangesClient {
  const settings = blameCaller(createChanges, () => readOptions(options))
  const { origins } = settings.connection
  let engine: Engine | undefined

  // A file of its own, so that pages and processes start before it is loaded.
  async function load(): Promise<Engine> {
    const { createEngine } = await import('./engine.ts')
    engine ??= createEngine(settings)
    return engine
  }
  // Loaded in the background. The first extraction could be too late: if the process has no free file descriptor, the
  // import fails, and Node 20 never repeats a failed import.
  load().catch(() => {})

  function requireInbox(method: string): void {
    if (!settings.inbox)
      throw configInvalid(`${method}() needs the option inbox`, 'Pass an inbox to createChanges.')
  }

  const changes: ChangesClient = {
    async of<Attributes extends object>(source: ChangesSource, context?: ChangesContext) {
      requireContext(context, settings.inbox !== undefined)
      return (await load()).of(source, context) as Promise<Changes<Attributes>>
    },
    download: async (attachment, options) => (await load()).download(attachment, options?.signal),
    catchUp(options) {
      const config = blameCaller(changes.catchUp, () => {
        requireInbox('catchUp')
        return readCatchUpOptions(options, origins)
      })
      const running = load().then((loaded) => loaded.catchUp(config))
      running.catch((error: unknown) => {
        if (!config.onError) throw error
        for (const service of config.services) config.onError(error, service)
      })
      return { poll: async () => (await running).poll(), close: async () => (await running).close() }
    },
    async resync(service, copy, options) {
      requireInbox('resync')
      if (typeof copy !== 'function') throw configInvalid('resync(service, copy): copy must be a function')
      await (await load()).resync(readServiceUrl(service, origins), copy, options?.signal)
    },
  }
  return changes
}
