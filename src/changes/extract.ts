import { abortable, backoff, findError, showUrl, wait } from '../shared/client.ts'
import { isObject, type Json } from '../shared/json.ts'
import { highestOf } from './catch-up.ts'
import { isDocument, namesFile, readDocument } from './download.ts'
import { ChangesError, malformed, resyncRequired } from './errors.ts'
import type { Settings } from './options.ts'
import { type Connection, hideTokens, type Run, requestJson } from './request.ts'
import { type ServiceRequest, toParameters } from './source.ts'
import type { Changes, LayerChanges } from './types.ts'

interface Extraction {
  /** URL of the feature service, without a slash at its end. */
  service: string
  /** Fields of the request other than `f`, the layers and the generations. */
  parameters: Readonly<Record<string, string>>
  /** Ids of the layers; absent for all. */
  layers?: readonly number[] | undefined
  /** The end is absent to extract all later changes. */
  window: { min: number; max?: number | undefined }
}

/** The current generation of a layer, and the oldest one from which the service can extract. */
interface LayerGenerations {
  id: number
  minServerGen?: number
  serverGen: number
}

/** How often a window is extracted if its file is lost before it is read. */
const MAX_EXTRACTIONS = 3

async function extract(extraction: Extraction, run: Run, connection: Connection): Promise<Changes> {
  const { service } = extraction
  for (let extractions = 1; ; extractions++) {
    const result = await submit(extraction, run, connection)
    if ('document' in result) return readDocument(result.document, service)
    try {
      const request = { step: 'fetch', service, url: result.file } as const
      return readDocument(await requestJson(request, run, connection), service)
    } catch (error) {
      if (extractions === MAX_EXTRACTIONS || !isLost(error)) throw error
    }
  }
}

async function submit(extraction: Extraction, run: Run, connection: Connection): Promise<JobResult> {
  const { service } = extraction
  const url = connection.origins.require(`${service}/extractChanges`, 'changesUrl')
  const request = { step: 'submit', service, url, fields: toFields(extraction) } as const
  const answer = await requestJson(request, run, connection)
  // Some services write absent members as null or as empty text.
  if ((answer.statusUrl ?? '') !== '') return awaitJob(answer.statusUrl, service, run, connection)
  if (namesFile(answer)) return { file: connection.origins.require(answer.resultUrl, 'resultUrl') }
  if (!isDocument(answer)) throw malformed(`${showUrl(service)} returned neither changes nor a job`)
  return { document: answer }
}

function toFields({ parameters, layers, window: { min, max } }: Extraction): Record<string, string> {
  return {
    ...parameters,
    f: 'json',
    ...(layers ? { layers: layers.join(',') } : {}),
    serverGens: max === undefined ? `[${min}]` : `[${min},${max}]`,
  }
}

/** Whether a file was removed, or its connection ended early several times. */
const isLost = (error: unknown): boolean =>
  error instanceof ChangesError && (error.code === 'changes_unavailable' || error.code === 'changes_failed')

/** Requests the generations of the layers; none if the service does not track changes. */
export async function describeService(
  service: string,
  run: Run,
  connection: Connection,
): Promise<LayerGenerations[]> {
  const url = connection.origins.require(service, 'URL of the service')
  const fields = { f: 'json', returnUpdates: 'true' }
  const answer = await requestJson({ step: 'describe', service, url, fields }, run, connection)
  const { layerServerGens } = isObject(answer.changeTrackingInfo) ? answer.changeTrackingInfo : {}
  const layers = Array.isArray(layerServerGens) ? layerServerGens.filter(isObject) : []
  return layers.map(({ id, minServerGen, serverGen }) => {
    if (![id, serverGen].every(Number.isSafeInteger))
      throw malformed('the layerServerGens of the service need integer ids and generations')
    const min = Number.isSafeInteger(minServerGen) ? { minServerGen: minServerGen as number } : {}
    return { id: id as number, serverGen: serverGen as number, ...min }
  })
}

/** States in which a job has ended without a file, in lower case and without blanks. Every other state may pass. */
const FAILED: ReadonlySet<string> = new Set([
  'completedwitherrors',
  'failed',
  'cancelled',
  'canceled',
  'timedout',
])

/** The file of a job, or the changes if the service put them into the state of the job. */
type JobResult = { file: URL } | { document: Json }

/**
 * Polls a job until it has a file. `Completed` without a URL is not the end, because services set the URL later.
 *
 * @throws {WebhookError} `changes_failed` with the state of a failed job, `changes_url_refused`
 */
async function awaitJob(
  statusUrl: unknown,
  service: string,
  run: Run,
  connection: Connection,
): Promise<JobResult> {
  const url = connection.origins.require(statusUrl, 'statusUrl')
  for (let polls = 0; ; polls++) {
    await wait(backoff(connection.pollInterval, polls), run.signal)
    const check = (answer: Json): void => {
      run.state = typeof answer.status === 'string' ? hideTokens(answer.status, connection.tokens) : undefined
      if (FAILED.has(normalize(run.state))) throw failed(answer, String(run.state), url)
    }
    const request = { step: 'poll', service, url, fields: { f: 'json' }, check } as const
    const job = await requestJson(request, run, connection)
    const { resultUrl } = job
    const normalized = normalize(run.state)
    // A job that still runs may already list some of its edits.
    if (run.state !== undefined && !['completed', 'succeeded'].includes(normalized)) continue
    if (Array.isArray(job.edits) && (run.state === undefined || !resultUrl)) return { document: job }
    if (run.state === undefined) continue
    // A job that found no edits has no file.
    if (/NoEdits$/i.test(String(job.responseType)) && !resultUrl) return { document: job }
    if (typeof resultUrl !== 'string' || !resultUrl) continue
    return { file: connection.origins.require(resultUrl, 'resultUrl') }
  }
}

const normalize = (state = ''): string =>
  state
    .toLowerCase()
    .replace(/^esrijob/, '')
    .replaceAll(' ', '')

function failed(job: Json, state: string, url: URL): ChangesError {
  const { code, message } = findError(job, false) ?? { code: 0, message: 'the service gives no reason' }
  return new ChangesError('changes_failed', {
    message: `the job ${showUrl(url)} ended with the state ${state.slice(0, 100)}: ${message}`,
    hint: 'Extract again later. If it fails again, look for the reason in the log of the service.',
    state,
    serviceCode: code || undefined,
  })
}

interface ServiceScope {
  settings: Settings
  run: Run
}

/** The changes of one service. */
export interface ServiceChanges {
  request: ServiceRequest
  changes: Changes
  /** Where the extraction began. */
  begin: number
  /** The last handled generations of the layers, once the handlers have succeeded. */
  ends: ReadonlyMap<number, number>
}

/**
 * Extracts the changes of one service. With an inbox, the window begins at the last handled generations.
 *
 * @throws {WebhookError} `resync_required` if the service no longer has the changes since then
 */
export async function extractService(request: ServiceRequest, scope: ServiceScope): Promise<ServiceChanges> {
  const { settings, run } = scope
  const generations = settings.inbox?.generations
  const { service, layers } = request
  const stored = generations ? await abortable(generations.get(service), run.signal) : new Map()
  const window = { ...request.window, min: beginOf(request, stored) }
  const extraction = { service, layers, window, parameters: toParameters(request, settings) }
  const changes = await extract(extraction, run, settings.connection).catch(async (error: unknown) => {
    await requireKept(error, { ...extraction, from: request.from }, stored, scope)
    throw error
  })
  // An aborted extraction must not raise the generations.
  run.signal.throwIfAborted()
  if (window.max !== undefined) for (const layer of changes.layers) windowEnds.set(layer, window.max)
  return { request, changes, begin: window.min, ends: endsOf(request, changes, stored) }
}

const windowEnds = new WeakMap<LayerChanges, number>()

/** The last generation of the window in which changes were extracted; `undefined` if it has no end. */
export const windowEndOf = (layer: LayerChanges): number | undefined => windowEnds.get(layer)

/** The least generation of the window and of the layers in it: later ones may not have been handled. */
function beginOf({ window, layers, from }: ServiceRequest, stored: ReadonlyMap<number, number>): number {
  if (from !== undefined) return Math.min(window.min, from)
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
  { service, layers, window, from }: Extraction & Pick<ServiceRequest, 'from'>,
  stored: ReadonlyMap<number, number>,
  { settings, run }: ServiceScope,
): Promise<void> {
  if (!(error instanceof ChangesError) || error.code !== 'changes_failed') return
  // If the service cannot describe itself, the error of the extraction says more.
  const current = await describeService(service, run, settings.connection).catch(() => [])
  // Handling a window raises the stored generations of all its layers, even above that of a layer without edits.
  const highest = highestOf(current)
  for (const layer of current) {
    if (layers && !layers.includes(layer.id)) continue
    const reason = reasonOf(layer, window.min, from ?? stored.get(layer.id), highest)
    if (reason) throw resyncRequired(`layer ${layer.id} of ${showUrl(service)} ${reason}`, error)
  }
}

/** @param highest the highest generation of all layers */
function reasonOf(
  { minServerGen }: LayerGenerations,
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
