import {
  type CatchUp,
  copyService,
  HIGHEST,
  highestOf,
  type LayerTracking,
  seenKey,
  startCatchUp,
} from './catch-up.ts'
import { openAttachment } from './download.ts'
import { abortable, ChangesError, resyncRequired, showUrl } from './errors.ts'
import { type Client, createClient, type Extraction, type ServiceDescription } from './extract.ts'
import type { CatchUpOptions, ChangesInbox, Settings } from './options.ts'
import { hideInError, type Run, runWithin } from './request.ts'
import { readRequests, type ServiceRequest, toParameters } from './source.ts'
import {
  type Attachment,
  type Changes,
  type ChangesContext,
  type ChangesSource,
  type CopyService,
  createRemember,
} from './types.ts'

/** The part of a client that is loaded when it is used for the first time. */
export interface Engine {
  of(source: ChangesSource, context: ChangesContext | undefined): Promise<Changes>
  download(attachment: Attachment, signal: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>>
  catchUp(options: CatchUpOptions): CatchUp
  resync(service: string, copy: CopyService, signal: AbortSignal | undefined): Promise<void>
}

export function createEngine(settings: Settings): Engine {
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
      const { layers, layerServerGens } = await extractService(request, {
        client,
        settings,
        run,
        context: collect,
      })
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

  /** `catchUp` and `resync` of the client require an inbox before they use this. */
  const parts = { inbox: settings.inbox as ChangesInbox, track }

  return {
    of: (source, context) =>
      safely(async () => {
        const requests = readRequests(source, settings.connection.origins)
        return remember(context, keyOf(requests), () =>
          runWithin(settings.timeout, context?.signal, (run) => extractAll(requests, run, context)),
        )
      }),
    download: (attachment, signal) =>
      safely(() => openAttachment(attachment, settings.connection, settings.timeout, signal)),
    catchUp: (options) => startCatchUp(parts, options),
    resync: (service, copy, signal = new AbortController().signal) =>
      abortable(copyService(parts, service, { reason: 'requested', signal }, copy), signal),
  }
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

/** What an extraction for a service needs. */
export interface ServiceScope {
  client: Client
  settings: Settings
  run: Run
  context: ChangesContext | undefined
}

/**
 * Extracts the changes of one service. With an inbox, the window begins at the last handled generations, and these are
 * raised to its end when the handlers have succeeded.
 *
 * @throws {WebhookError} `resync_required` if the service no longer has the changes since then
 */
export async function extractService(request: ServiceRequest, scope: ServiceScope): Promise<Changes> {
  const { client, settings, run, context } = scope
  const generations = settings.inbox?.generations
  const { service, layers } = request
  const stored = generations ? await abortable(generations.get(service), run.signal) : new Map()
  const window = { ...request.window, min: beginOf(request, stored) }
  const extraction = { service, layers, window, parameters: toParameters(request, settings) }
  const changes = await client.extract(extraction, run).catch(async (error: unknown) => {
    await requireKept(error, extraction, stored, scope)
    throw error
  })
  // An aborted extraction must not raise the generations.
  run.signal.throwIfAborted()
  const highest = highestOf(changes.layerServerGens)
  if (generations)
    context?.onSuccess?.(async () => {
      // If the service is restored before the next poll, the poll sees by this that its generations are lower.
      if (highest > -Infinity) await generations.raise(seenKey(service), new Map([[HIGHEST, highest]]))
      await generations.raise(service, endsOf(request, changes, stored))
    })
  return changes
}

/** The least generation of the window and of the layers in it: later ones may not have been handled. */
function beginOf({ window, layers }: ServiceRequest, stored: ReadonlyMap<number, number>): number {
  let min = window.min
  for (const [id, generation] of stored)
    if (generation < min && (!layers || layers.includes(id))) min = generation
  return min
}

/**
 * The last handled generations of the layers: the end of the window or, if it has none, those in the response. A window
 * can end after the current generation if the service was restored since; then only the response says what was handled.
 */
function endsOf(
  { window: { max }, layers }: ServiceRequest,
  changes: Changes,
  stored: ReadonlyMap<number, number>,
): Map<number, number> {
  // Services may return the generations of layers that were not requested.
  const returned = changes.layerServerGens.filter(({ id }) => !layers || layers.includes(id))
  const ends = new Map(returned.map(({ id, serverGen }) => [id, serverGen]))
  if (max === undefined) return ends
  const highest = highestOf(returned)
  const end = returned.length === 0 ? max : Math.min(max, highest)
  const known = [...ends.keys(), ...changes.layers.map(({ id }) => id)]
  return new Map((layers ?? [...known, ...stored.keys()]).map((id) => [id, end]))
}

/**
 * Checks after an error of a service whether it still has the changes of the window.
 *
 * @throws {WebhookError} `resync_required`
 */
async function requireKept(
  error: unknown,
  { service, layers, window }: Extraction,
  stored: ReadonlyMap<number, number>,
  { client, run }: ServiceScope,
): Promise<void> {
  if (!(error instanceof ChangesError) || error.code !== 'changes_failed') return
  // If the service cannot describe itself, the error of the extraction says more.
  const described = await client.describeService(service, run).catch(() => undefined)
  const current = described?.layerServerGens ?? []
  // Handling a window raises the stored generations of all its layers, even above that of a layer without edits.
  const highest = highestOf(current)
  for (const layer of current) {
    if (layers && !layers.includes(layer.id)) continue
    const reason = reasonOf(layer, window.min, stored.get(layer.id), highest)
    if (reason) throw resyncRequired(`layer ${layer.id} of ${showUrl(service)} ${reason}`, error)
  }
}

/** @param highest the highest generation of all layers */
function reasonOf(
  { minServerGen }: ServiceDescription['layerServerGens'][number],
  min: number,
  stored: number | undefined,
  highest: number,
): string | undefined {
  // Changes up to the stored generation have been handled, even if the window of an old delivery begins earlier.
  const needed = stored ?? min
  if (minServerGen !== undefined && needed < minServerGen)
    return `keeps only the changes since generation ${minServerGen}, and those after ${needed} are needed`
  if (stored !== undefined && stored > highest)
    return `is at generation ${highest}, although ${stored} was handled: the service was replaced`
  return undefined
}
