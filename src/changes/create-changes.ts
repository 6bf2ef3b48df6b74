import { blameCaller, configInvalid } from '../errors.ts'
import { type CatchUp, startCatchUp } from './catch-up/catch-up.ts'
import { type CopyService, copyService } from './catch-up/copy-service.ts'
import { type CatchUpOptions, readCatchUpOptions } from './catch-up/options.ts'
import { readServiceUrl, toTracking } from './catch-up/service.ts'
import type { LayerTracking } from './catch-up/tracking.ts'
import { type ChangesContext, requireContext } from './context.ts'
import { createEngine } from './engine.ts'
import { type ChangesInbox, type ChangesOptions, readOptions } from './options.ts'
import { runWithin } from './run.ts'
import type { Attachment, Changes, ChangesSource } from './types.ts'

/** Gets the changes behind events. */
export interface ChangesClient {
  /**
   * Extracts the changes behind an event, a list of events or a delivery. The handlers of one delivery that ask for the
   * same changes with their third argument share one extraction, and get the same object.
   *
   * @param context the third argument of the handler as a whole; required with the option `inbox`
   * @throws {WebhookError} `changes_url_refused`, `changes_token_rejected`, `changes_failed`, `changes_timeout`,
   * `changes_malformed`, `changes_too_large`, `changes_unavailable`, `resync_required`, `config_invalid`; the reason of
   * the signal if it is aborted
   */
  of<Attributes extends object = Record<string, unknown>>(
    source: ChangesSource,
    context?: ChangesContext,
  ): Promise<Changes<Attributes>>
  /**
   * Opens the bytes of an attachment. The option `timeout` is the time until they begin.
   *
   * @throws {WebhookError} `changes_url_refused`, `changes_token_rejected`, `changes_failed`, `changes_timeout`,
   * `changes_malformed`, `changes_unavailable`; the reason of the signal if it is aborted, also while the stream is read
   */
  download(
    attachment: Attachment,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<ReadableStream<Uint8Array>>
  /**
   * Asks services for their current generations, at the start and at intervals, and hands over changes that no delivery
   * announced, as one event `FeaturesEdited` of the kind `caught_up`. Changes that are not handled yet at one poll are
   * handed over at the next one. Needs the option `inbox`; its workers run the handlers.
   *
   * @throws {WebhookError} `config_invalid`
   */
  catchUp(options: CatchUpOptions): CatchUp
  /**
   * Copies all features of a service with your function, and continues after the generations that were current before.
   * Needs the option `inbox`.
   *
   * @param service URL of the feature service
   * @param copy called once; reads all features, for example by queries
   * @throws {WebhookError} `config_invalid`, and the codes of {@link of}; what `copy` throws
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
  const engine = createEngine(settings)
  const { origins } = settings.connection
  const readService = (url: string): string => readServiceUrl(url, origins)

  async function track(service: string, signal: AbortSignal): Promise<LayerTracking[]> {
    const description = await runWithin(settings.timeout, signal, (run) =>
      engine.client.describeService(service, run),
    )
    return toTracking(service, description)
  }

  function requireInbox(method: string): ChangesInbox {
    if (settings.inbox) return settings.inbox
    throw configInvalid(`${method}() needs the option inbox`, 'Pass an inbox to createChanges.')
  }

  const changes: ChangesClient = {
    async of<Attributes extends object>(source: ChangesSource, context?: ChangesContext) {
      requireContext(context, settings.inbox !== undefined)
      return engine.of(source, context) as Promise<Changes<Attributes>>
    },
    download: async (attachment, { signal } = {}) => engine.download(attachment, signal),
    catchUp(options) {
      const start = (): CatchUp => {
        const inbox = requireInbox('catchUp')
        return startCatchUp({ inbox, track }, readCatchUpOptions(options, readService))
      }
      return blameCaller(changes.catchUp, start)
    },
    async resync(service, copy, { signal = new AbortController().signal } = {}) {
      const inbox = requireInbox('resync')
      if (typeof copy !== 'function') throw configInvalid('resync(service, copy): copy must be a function')
      await copyService({ inbox, track }, readService(service), { reason: 'requested', signal }, copy)
    },
  }
  return changes
}
