import { blameCaller } from '../errors.ts'
import { type ChangesContext, createRemember, requireContext } from './context.ts'
import { openAttachment } from './download.ts'
import { createClient } from './extract.ts'
import { type ChangesOptions, readOptions } from './options.ts'
import { readRequests, type ServiceRequest } from './requests.ts'
import { type Run, runWithin } from './run.ts'
import { extractService } from './service-changes.ts'
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
  const client = createClient(settings.connection)
  const remember = createRemember<Changes>()

  async function extractAll(
    requests: readonly ServiceRequest[],
    run: Run,
    context: ChangesContext | undefined,
  ): Promise<Changes> {
    const all: Changes = { layers: [], layerServerGens: [] }
    // One service after another, because each of them is a large document.
    for (const request of requests) {
      const { layers, layerServerGens } = await extractService(request, { client, settings, run, context })
      all.layers = all.layers.concat(layers)
      all.layerServerGens = all.layerServerGens.concat(layerServerGens)
    }
    return all
  }

  return {
    async of<Attributes extends object>(source: ChangesSource, context?: ChangesContext) {
      requireContext(context, settings.generations !== undefined)
      const requests = readRequests(source, settings.connection.origins)
      const extract = (): Promise<Changes> =>
        runWithin(settings.timeout, context?.signal, (run) => extractAll(requests, run, context))
      return remember(context, keyOf(requests), extract) as Promise<Changes<Attributes>>
    },
    download: (attachment, { signal } = {}) =>
      openAttachment(attachment, settings.connection, settings.timeout, signal),
  }
}

const keyOf = (requests: readonly ServiceRequest[]): string =>
  JSON.stringify(requests.map((request) => ({ ...request, parameters: [...request.parameters].sort() })))
