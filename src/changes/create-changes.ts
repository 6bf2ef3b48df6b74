import { blameCaller, configInvalid } from '../errors.ts'
import { type CatchUp, copyService, type LayerTracking, startCatchUp } from './catch-up.ts'
import { openAttachment } from './download.ts'
import { abortable, ChangesError, showUrl } from './errors.ts'
import { createClient, extractService, type ServiceDescription } from './extract.ts'
import {
  type CatchUpOptions,
  type ChangesInbox,
  type ChangesOptions,
  readCatchUpOptions,
  readOptions,
  readServiceUrl,
} from './options.ts'
import { hideInError, type Run, runWithin } from './request.ts'
import { readRequests, type ServiceRequest } from './source.ts'
import {
  type Attachment,
  type Changes,
  type ChangesContext,
  type ChangesSource,
  type CopyService,
  createRemember,
  requireContext,
} from './types.ts'

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
  const client = createClient(settings.connection)
  const remember = createRemember<Changes>()

  /** Hides the tokens of the client in errors. */
  const safely = <Result>(run: () => Promise<Result>): Promise<Result> =>
    run().catch((error: unknown) => {
      throw hideInError(error, settings.connection.tokens)
    })

  async function extractAll(
    requests: readonly ServiceRequest[],
    run: Run,
    context: ChangesContext | undefined,
  ): Promise<Changes> {
    const all: Changes = { layers: [], layerServerGens: [] }
    // If a later service fails, the changes of an earlier one are not handed over, so its generations must not be raised.
    const functions: (() => unknown)[] = []
    const collect = { onSuccess: (raise: () => unknown) => void functions.push(raise) }
    // One service after another, because the changes of each can be a large document.
    for (const request of requests) {
      const scope = { client, settings, run, context: collect }
      const { layers, layerServerGens } = await extractService(request, scope)
      // `push(...layers)` would exceed the stack with long lists.
      all.layers = all.layers.concat(layers)
      all.layerServerGens = all.layerServerGens.concat(layerServerGens)
    }
    for (const raise of functions) context?.onSuccess?.(raise)
    return all
  }

  async function track(service: string, signal: AbortSignal): Promise<LayerTracking[]> {
    const describe = (run: Run): Promise<ServiceDescription> => client.describeService(service, run)
    return safely(async () => toTracking(service, await runWithin(settings.timeout, signal, describe)))
  }

  /** `catchUp` and `resync` require an inbox before they use this. */
  const parts = { inbox: settings.inbox as ChangesInbox, track }

  function requireInbox(method: string): void {
    if (!settings.inbox)
      throw configInvalid(`${method}() needs the option inbox`, 'Pass an inbox to createChanges.')
  }

  const changes: ChangesClient = {
    async of<Attributes extends object>(source: ChangesSource, context?: ChangesContext) {
      requireContext(context, settings.inbox !== undefined)
      return safely(async () => {
        const requests = readRequests(source, origins)
        return remember(context, keyOf(requests), () =>
          runWithin(settings.timeout, context?.signal, (run) => extractAll(requests, run, context)),
        )
      }) as Promise<Changes<Attributes>>
    },
    download: (attachment, options) =>
      safely(() => openAttachment(attachment, settings.connection, settings.timeout, options?.signal)),
    catchUp(options) {
      const config = blameCaller(changes.catchUp, () => {
        requireInbox('catchUp')
        return readCatchUpOptions(options, origins)
      })
      return startCatchUp(parts, config)
    },
    async resync(service, copy, { signal = new AbortController().signal } = {}) {
      requireInbox('resync')
      if (typeof copy !== 'function') throw configInvalid('resync(service, copy): copy must be a function')
      const url = readServiceUrl(service, origins)
      await abortable(copyService(parts, url, { reason: 'requested', signal }, copy), signal)
    },
  }
  return changes
}

const keyOf = (requests: readonly ServiceRequest[]): string =>
  JSON.stringify(requests.map((request) => ({ ...request, parameters: [...request.parameters].sort() })))

/** @throws {WebhookError} `changes_failed` if the service does not track changes */
function toTracking(service: string, { layerServerGens }: ServiceDescription): LayerTracking[] {
  if (layerServerGens.length === 0)
    throw new ChangesError('changes_failed', {
      message: `${showUrl(service)} does not track changes`,
      hint: 'Enable change tracking: the capabilities of the service must contain ChangeTracking.',
    })
  return layerServerGens.map(({ id, serverGen, minServerGen = Math.min(0, serverGen) }) => ({
    id,
    serverGen,
    minServerGen,
  }))
}
