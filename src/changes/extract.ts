import { isDocument, namesFile, readDocument } from './document.ts'
import { ChangesError, showUrl } from './errors.ts'
import { awaitJob, type JobResult } from './job.ts'
import { isObject, type Json, malformed } from './json.ts'
import type { Origins } from './origins.ts'
import { type Connection, requestJson } from './request.ts'
import type { Run } from './run.ts'
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
