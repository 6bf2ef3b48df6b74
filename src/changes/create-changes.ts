import { blameCaller, configInvalid } from '../errors.ts'
import { type CatchUp, type CatchUpParts, copyService, type LayerTracking, startCatchUp } from './catch-up.ts'
import { openAttachment } from './download.ts'
import { abortable, ChangesError, showUrl } from './errors.ts'
import { describeService, extractService } from './extract.ts'
import {
  type CatchUpOptions,
  type ChangesOptions,
  readCatchUpOptions,
  readOptions,
  readServiceUrl,
} from './options.ts'
import { type Connection, hideInError, type Run, runWithin } from './request.ts'
import { readRequests, type ServiceRequest } from './source.ts'
import type { Attachment, Changes, ChangesContext, ChangesSource, CopyService } from './types.ts'

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
  const { inbox, timeout, connection } = settings
  const { origins } = connection
  const remember = createRemember()

  /** Hides the tokens of the client in errors. */
  const safely = <Result>(run: () => Promise<Result>): Promise<Result> =>
    run().catch((error: unknown) => {
      throw hideInError(error, connection.tokens)
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
      const { layers, layerServerGens } = await extractService(request, { settings, run, context: collect })
      // `push(...layers)` would exceed the stack with long lists.
      all.layers = all.layers.concat(layers)
      all.layerServerGens = all.layerServerGens.concat(layerServerGens)
    }
    for (const raise of functions) context?.onSuccess?.(raise)
    return all
  }

  const track = (service: string, signal: AbortSignal): Promise<LayerTracking[]> =>
    safely(() => runWithin(timeout, signal, (run) => trackLayers(service, run, connection)))

  function requireInbox(method: string): CatchUpParts {
    if (inbox) return { inbox, track }
    throw configInvalid(`${method}() needs the option inbox`, 'Pass an inbox to createChanges.')
  }

  const changes: ChangesClient = {
    async of<Attributes extends object>(source: ChangesSource, context?: ChangesContext) {
      requireContext(context, inbox !== undefined)
      return safely(async () => {
        const requests = readRequests(source, origins)
        return remember(context, keyOf(requests), () =>
          runWithin(timeout, context?.signal, (run) => extractAll(requests, run, context)),
        )
      }) as Promise<Changes<Attributes>>
    },
    download: (attachment, options) =>
      safely(() => openAttachment(attachment, connection, timeout, options?.signal)),
    catchUp(options) {
      const [parts, config] = blameCaller(
        changes.catchUp,
        () => [requireInbox('catchUp'), readCatchUpOptions(options, origins)] as const,
      )
      return startCatchUp(parts, config)
    },
    async resync(service, copy, { signal = new AbortController().signal } = {}) {
      const parts = requireInbox('resync')
      if (typeof copy !== 'function') throw configInvalid('resync(service, copy): copy must be a function')
      const url = readServiceUrl(service, origins)
      await abortable(copyService(parts, url, { reason: 'requested', signal }, copy), signal)
    },
  }
  return changes
}

/** @throws {WebhookError} `config_invalid` */
function requireContext(context: ChangesContext | undefined, needsSuccess: boolean): void {
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

/**
 * Creates a function that makes a call once in each attempt, because a handler is called for several events of a payload
 * that have the same changes. `onSuccess` identifies the attempt, because a signal can outlive it.
 */
function createRemember() {
  const attempts = new WeakMap<object, Map<string, Promise<Changes>>>()
  return (
    { onSuccess }: ChangesContext = {},
    key: string,
    call: () => Promise<Changes>,
  ): Promise<Changes> => {
    if (!onSuccess) return call()
    const calls = attempts.get(onSuccess) ?? new Map<string, Promise<Changes>>()
    attempts.set(onSuccess, calls)
    const result = calls.get(key) ?? call()
    calls.set(key, result)
    result.catch(() => calls.delete(key))
    return result
  }
}

const keyOf = (requests: readonly ServiceRequest[]): string =>
  JSON.stringify(requests.map((request) => ({ ...request, parameters: [...request.parameters].sort() })))

/** @throws {WebhookError} `changes_failed` if the service does not track changes */
async function trackLayers(service: string, run: Run, connection: Connection): Promise<LayerTracking[]> {
  const layers = await describeService(service, run, connection)
  if (layers.length === 0)
    throw new ChangesError('changes_failed', {
      message: `${showUrl(service)} does not track changes`,
      hint: 'Enable change tracking: the capabilities of the service must contain ChangeTracking.',
    })
  return layers.map(({ id, serverGen, minServerGen = Math.min(0, serverGen) }) => ({
    id,
    serverGen,
    minServerGen,
  }))
}
