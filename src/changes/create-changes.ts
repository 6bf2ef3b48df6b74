import { blameCaller, configInvalid } from '../errors.ts'
import type { GenerationStore } from '../inbox/generations.ts'
import { locksOf } from '../inbox/service-locks.ts'
import { attemptPort } from '../receiver/port.ts'
import { abortable, showUrl } from '../shared/client.ts'
import {
  type CatchUp,
  type CatchUpParts,
  copyService,
  HIGHEST,
  highestOf,
  type LayerTracking,
  seenKey,
  startCatchUp,
} from './catch-up.ts'
import { openAttachment } from './download.ts'
import { ChangesError } from './errors.ts'
import { describeService, extractService, type ServiceChanges } from './extract.ts'
import { type Handled, readHandled } from './handled.ts'
import {
  type CatchUpOptions,
  type ChangesOptions,
  readCatchUpOptions,
  readOptions,
  readServiceUrl,
} from './options.ts'
import { type FeaturePage, type QueryOptions, readPages, readQueryOptions } from './query.ts'
import { type Connection, hideInError, type Run, requestJson, runWithin } from './request.ts'
import { readRequests, type ServiceRequest } from './source.ts'
import type { Attachment, Changes, ChangesContext, ChangesSource, CopyService, StepName } from './types.ts'

/** A call of `of` with an inbox. */
interface HandlerCall {
  generations: GenerationStore
  onSuccess: (run: () => unknown) => void
  /** Key of the handler. Absent if the call is not from a handler of a receiver. */
  handler: string | undefined
}

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
   * Reads the current features of a service page by page, for example in `resync`. Each page is requested when it is
   * asked for. Edits that are made during the query may or may not be included. The option `timeout` limits each
   * request with its retries.
   *
   * @param service URL of the feature service
   * @throws {WebhookError} `config_invalid` at once; during iteration `changes_url_refused`, `changes_token_rejected`,
   * `changes_failed`, `changes_timeout`, `changes_malformed`, `changes_too_large`, `changes_unavailable`; the abort
   * reason if the signal is aborted
   *
   * @example
   * ```ts
   * import { createChanges } from 'geohook/changes'
   *
   * const changes = createChanges({ token: 'secret', origins: ['https://gis.example.com'] })
   * const service = 'https://gis.example.com/server/rest/services/Parcels/FeatureServer'
   *
   * export async function printTrees(signal?: AbortSignal) {
   *   const pages = changes.query(service, { layer: 0, where: 'height > 10', signal })
   *   for await (const { features } of pages) for (const { attributes } of features) console.log(attributes)
   * }
   * ```
   */
  query<Attributes extends object = Record<string, unknown>>(
    service: string,
    options?: QueryOptions,
  ): AsyncGenerator<FeaturePage<Attributes>, void, undefined>
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
   * current before the copy. Waits for attempts of this process that handle the service; later ones wait for the copy.
   * Requires the option `inbox`.
   *
   * @param service URL of the feature service
   * @param copy called once; reads all features, for example with {@link query}
   * @param context in a handler, its third argument as a whole: otherwise the copy would wait for the handler itself
   * @throws {WebhookError} `config_invalid`, and the codes of {@link of}; any error that `copy` throws
   */
  resync(service: string, copy: CopyService, context?: ChangesContext): Promise<void>
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

  async function extractAll(requests: readonly ServiceRequest[], run: Run) {
    const all: Changes = { layers: [], layerServerGens: [] }
    const services: ServiceChanges[] = []
    // One service after another, because the changes of each can be a large document.
    for (const request of requests) {
      const extracted = await extractService(request, { settings, run })
      const { layers, layerServerGens } = extracted.changes
      // `push(...layers)` would exceed the stack with long lists.
      all.layers = all.layers.concat(layers)
      all.layerServerGens = all.layerServerGens.concat(layerServerGens)
      services.push(extracted)
    }
    return { changes: all, services }
  }

  /** Extracts what the handler has not handled yet. Stores what it has handled once all handlers have succeeded. */
  async function extractNew(
    requests: readonly ServiceRequest[],
    { generations, onSuccess, handler }: HandlerCall,
    run: Run,
  ): Promise<Changes> {
    const attempt = attemptPort(onSuccess)
    const afterSuccess = (store: () => unknown): void =>
      attempt ? attempt.afterSuccess(store) : onSuccess(store)
    const due: ServiceRequest[] = []
    const known: Handled[] = []
    for (const request of requests) {
      const describe = () => describeService(request.service, run, connection)
      const handled =
        handler === undefined
          ? undefined
          : await readHandled(generations, request, { handler, isRerun: attempt?.rerun === true }, describe)
      if (handled) known.push(handled)
      if (!handled?.isLate) due.push(attempt?.isSeparate ? { ...request, from: handled?.end } : request)
    }
    const { changes, services } = await remember(onSuccess, keyOf(due), async () => {
      const extracted = await extractAll(due, run)
      afterSuccess(() => raiseGenerations(generations, extracted.services))
      return extracted
    })
    for (const handled of known) afterSuccess(() => handled.raise(services))
    return changes
  }

  const track = (service: string, signal: AbortSignal): Promise<LayerTracking[]> =>
    safely(() => runWithin(timeout, signal, (run) => trackLayers(service, run, connection)))

  function requireInbox(method: string): CatchUpParts {
    if (inbox) return { inbox, track }
    throw configInvalid(`${method}() needs the option inbox`, 'Pass an inbox to createChanges.')
  }

  const changes: ChangesClient = {
    async of<Attributes extends object>(source: ChangesSource, context: ChangesContext = {}) {
      requireContext(context, inbox !== undefined)
      const { onSuccess, signal } = context
      const handler = attemptPort(onSuccess)?.handler
      const result = safely(async () => {
        const requests = readRequests(source, origins)
        const within = <Result>(call: (run: Run) => Promise<Result>) => runWithin(timeout, signal, call)
        if (!inbox || !onSuccess)
          return remember(onSuccess, keyOf(requests), () =>
            within(async (run) => (await extractAll(requests, run)).changes),
          )
        const { generations } = inbox
        return holdServices(generations, requests, { onSuccess, signal }, () =>
          remember(onSuccess, `${handler} ${keyOf(requests)}`, () =>
            within((run) => extractNew(requests, { generations, onSuccess, handler }, run)),
          ),
        )
      })
      return result as Promise<Changes<Attributes>>
    },
    download: (attachment, options) =>
      safely(() => openAttachment(attachment, connection, timeout, options?.signal)),
    query<Attributes extends object>(service: string, options?: QueryOptions) {
      const [url, given] = blameCaller(
        changes.query,
        () => [readServiceUrl(service, origins), readQueryOptions(options)] as const,
      )
      const ask = (step: StepName, path: string, fields = {}) => {
        const request = {
          step,
          service: url,
          url: new URL(`${url}${path}`),
          fields: { ...fields, f: 'json' },
        }
        return safely(() => runWithin(timeout, given.signal, (run) => requestJson(request, run, connection)))
      }
      const pages = readPages({ service: url, outSR: settings.parameters.outSR, ask }, given)
      return pages as AsyncGenerator<FeaturePage<Attributes>, void, undefined>
    },
    catchUp(options) {
      const [parts, config] = blameCaller(
        changes.catchUp,
        () => [requireInbox('catchUp'), readCatchUpOptions(options, origins)] as const,
      )
      return startCatchUp(parts, config)
    },
    async resync(service, copy, { onSuccess, signal = new AbortController().signal } = {}) {
      const parts = requireInbox('resync')
      if (typeof copy !== 'function') throw configInvalid('resync(service, copy): copy must be a function')
      const url = readServiceUrl(service, origins)
      // Otherwise, the copy and the handler would wait for each other.
      if (onSuccess) locksOf(parts.inbox.generations).leave(attemptPort(onSuccess) ?? onSuccess)
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
  const attempts = new WeakMap<object, Map<string, Promise<unknown>>>()
  return <Result>(
    onSuccess: object | undefined,
    key: string,
    call: () => Promise<Result>,
  ): Promise<Result> => {
    if (!onSuccess) return call()
    const calls = attempts.get(onSuccess) ?? new Map<string, Promise<unknown>>()
    attempts.set(onSuccess, calls)
    const result = (calls.get(key) as Promise<Result> | undefined) ?? call()
    calls.set(key, result)
    result.catch(() => calls.delete(key))
    return result
  }
}

/**
 * Keeps the services from being copied, until the call has failed or the attempt has ended. Without an attempt of a
 * receiver, until the call has ended.
 */
async function holdServices<Result>(
  generations: GenerationStore,
  requests: readonly ServiceRequest[],
  { onSuccess, signal }: ChangesContext & Pick<HandlerCall, 'onSuccess'>,
  call: () => Promise<Result>,
): Promise<Result> {
  const locks = locksOf(generations)
  const services = requests.map(({ service }) => service)
  const attempt = attemptPort(onSuccess)
  const owner = attempt ?? onSuccess
  const release = await locks.hold({ owner, services }, signal)
  const isRunning = attempt?.handler !== undefined
  if (isRunning) attempt.onEnd(release)
  try {
    const result = await call()
    if (!isRunning) release()
    return result
  } catch (error) {
    release()
    // The handler may copy the service now.
    if (error instanceof ChangesError && error.code === 'resync_required') locks.leave(owner)
    throw error
  }
}

/** Stores what all handlers have handled. */
async function raiseGenerations(generations: GenerationStore, services: readonly ServiceChanges[]) {
  for (const { request, changes, ends } of services) {
    const highest = highestOf(changes.layerServerGens)
    // If the service is restored before the next poll, the poll sees by this that its generations are lower.
    if (highest > -Infinity) await generations.raise(seenKey(request.service), new Map([[HIGHEST, highest]]))
    await generations.raise(request.service, ends)
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
