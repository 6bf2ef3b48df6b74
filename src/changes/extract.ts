import { isObject, type Json } from '../payload/json.ts'
import { isDocument, namesFile, readDocument } from './download.ts'
import { backoff, ChangesError, showUrl, wait } from './errors.ts'
import { findError, malformed } from './failures.ts'
import type { Origins } from './origins.ts'
import { type Connection, hideTokens, type Run, requestJson } from './request.ts'
import type { Changes } from './types.ts'

/** What to extract from a feature service. */
export interface Extraction {
  /** URL of the feature service, without a slash at its end. */
  service: string
  /** Fields of the request other than `f`, the layers and the generations. */
  parameters: Readonly<Record<string, string>>
  /** Ids of the layers; absent for all. */
  layers?: readonly number[] | undefined
  /** The end is absent to extract all later changes. */
  window: { min: number; max?: number | undefined }
}

/** The current generations of a service, and the oldest ones from which it can extract. */
export interface ServiceDescription {
  /** Empty if the service does not track changes. */
  layerServerGens: { id: number; minServerGen?: number; serverGen: number }[]
}

/** Sends requests to services in the allowed origins. */
export interface Client {
  extract(extraction: Extraction, run: Run): Promise<Changes>
  describeService(service: string, run: Run): Promise<ServiceDescription>
}

/** How often a window is extracted if its file is lost before it is read. */
const MAX_EXTRACTIONS = 3

export function createClient(connection: Connection & { origins: Origins }): Client {
  async function submit(extraction: Extraction, run: Run): Promise<JobResult> {
    const { service } = extraction
    const url = connection.origins.require(`${service}/extractChanges`, 'changesUrl')
    const request = {
      step: 'submit',
      service,
      url,
      fields: toFields(extraction),
      allowsOtherOrigin: false,
    } as const
    const answer = await requestJson(request, run, connection)
    // Some services write absent members as null or as empty text.
    if ((answer.statusUrl ?? '') !== '') return awaitJob(answer.statusUrl, service, run, connection)
    if (namesFile(answer)) return { file: connection.origins.require(answer.resultUrl, 'resultUrl') }
    if (!isDocument(answer)) throw malformed(`${showUrl(service)} returned neither changes nor a job`)
    return { document: answer }
  }

  return {
    async extract(extraction, run) {
      const { service } = extraction
      for (let extractions = 1; ; extractions++) {
        const result = await submit(extraction, run)
        if ('document' in result) return readDocument(result.document, service)
        try {
          const request = { step: 'fetch', service, url: result.file, allowsOtherOrigin: true } as const
          return readDocument(await requestJson(request, run, connection), service)
        } catch (error) {
          if (extractions === MAX_EXTRACTIONS || !isLost(error)) throw error
        }
      }
    },
    async describeService(service, run) {
      const url = connection.origins.require(service, 'URL of the service')
      const fields = { f: 'json', returnUpdates: 'true' }
      return readDescription(
        await requestJson(
          { step: 'describe', service, url, fields, allowsOtherOrigin: false },
          run,
          connection,
        ),
      )
    },
  }
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

function readDescription({ changeTrackingInfo }: Json): ServiceDescription {
  const { layerServerGens } = isObject(changeTrackingInfo) ? changeTrackingInfo : {}
  const layers = Array.isArray(layerServerGens) ? layerServerGens.filter(isObject) : []
  return {
    layerServerGens: layers.map(({ id, minServerGen, serverGen }) => {
      if (![id, serverGen].every(Number.isSafeInteger))
        throw malformed('the layerServerGens of the service need integer ids and generations')
      const min = Number.isSafeInteger(minServerGen) ? { minServerGen: minServerGen as number } : {}
      return { id: id as number, serverGen: serverGen as number, ...min }
    }),
  }
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
  connection: Connection & { origins: Origins },
): Promise<JobResult> {
  const url = connection.origins.require(statusUrl, 'statusUrl')
  for (let polls = 0; ; polls++) {
    await wait(backoff(connection.pollInterval, polls), run.signal)
    const check = (answer: Json): void => {
      run.state = typeof answer.status === 'string' ? hideTokens(answer.status, connection.tokens) : undefined
      if (FAILED.has(normalize(run.state))) throw failed(answer, String(run.state), url)
    }
    const request = {
      step: 'poll',
      service,
      url,
      fields: { f: 'json' },
      allowsOtherOrigin: false,
      check,
    } as const
    const job = await requestJson(request, run, connection)
    const { resultUrl } = job
    const normalized = normalize(run.state)
    // A job that still runs may already list some of its edits.
    if (run.state !== undefined && !['completed', 'succeeded'].includes(normalized)) continue
    if (Array.isArray(job.edits) && (run.state === undefined || !resultUrl)) return { document: job }
    if (run.state === undefined) continue
    if (hasNoEdits(job)) return { document: job }
    if (typeof resultUrl !== 'string' || !resultUrl) continue
    return { file: connection.origins.require(resultUrl, 'resultUrl') }
  }
}

/** True for a job that found no edits, which has no file. */
const hasNoEdits = ({ responseType, resultUrl }: Json): boolean =>
  typeof responseType === 'string' && /NoEdits$/i.test(responseType) && !resultUrl

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
