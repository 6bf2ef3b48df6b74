import type { ServerResponse } from 'node:http'
import {
  EVERY_STEP_FAULTS,
  type ExtractionFaultName,
  type FaultStore,
  isJobFault,
  JOB_FAULTS,
} from '../../faults/faults.ts'
import { AdminError } from '../../http/errors.ts'
import { type Parameters, single } from '../../http/request.ts'
import type { FeatureData } from '../feature-data.ts'
import { type ChangeDocument, createDocument, toBytes } from './document.ts'
import {
  answerFault,
  COMPLETED,
  createChangeFiles,
  createJobs,
  sendFile,
  sendRedirect,
  sendSignedFile,
  toJobJson,
} from './jobs.ts'
import { extractChangesCapabilities, type ResolvedExtractOptions } from './options.ts'
import { type ExtractRequest, purgedError, readExtractRequest, toFields } from './request.ts'

/** A request of a change extraction. */
export interface ExtractionCall {
  data: FeatureData
  /** Path of the service. */
  service: string
  parameters: Parameters
  /** The URL of the service, without a slash at its end. */
  serviceUrl: string
}

/** JSON, or a function that writes the response. */
type ExtractionAnswer = { body: object } | { send(res: ServerResponse): void }

/** Extracts changes: at once, or by jobs that write files. */
export interface Extractions {
  /** The supported parameters, as in the description of a service. */
  readonly capabilities: Readonly<Record<string, boolean>>
  /** @throws {AdminError} */
  submit(call: ExtractionCall): ExtractionAnswer
  /** @throws {AdminError} */
  poll(call: ExtractionCall, jobId: string): ExtractionAnswer
  /** @throws {AdminError} */
  result(call: ExtractionCall, fileId: string): ExtractionAnswer
  /** Drops all jobs and files. */
  clear(): void
}

export function createExtractions(
  now: () => number,
  options: ResolvedExtractOptions,
  faults: FaultStore,
): Extractions {
  const files = createChangeFiles(now, options.fileLifetime)
  const jobs = createJobs(now, options)

  function submitJob(
    { service, serviceUrl }: ExtractionCall,
    { body, hasEdits }: ChangeDocument,
    fault: ExtractionFaultName | undefined,
  ): ExtractionAnswer {
    const fileId = files.add(toBytes(body))
    const jobFault = fault && isJobFault(fault) ? fault : undefined
    const { id } = jobs.submit({ service, fileId, hasEdits, fault: jobFault })
    return { body: { statusUrl: `${serviceUrl}/jobs/${id}` } }
  }

  return {
    capabilities: extractChangesCapabilities(options),
    submit(call) {
      const { data, parameters, serviceUrl } = call
      const request = readExtractRequest(toFields(parameters), data, options)
      const fault = faults.takeAt('submit', submitFaults(request))
      if (fault === 'window_purged') throw purgedError(data.generation)
      const answer = answerFault(fault)
      if (answer) return answer
      const document = createDocument({ data, request, serviceUrl, isEmpty: fault === 'ids_only_empty' })
      if (request.isJob) return submitJob(call, document, fault)
      if (fault !== 'cut_result') return { body: document.body }
      const bytes = toBytes(document.body)
      return { send: (res) => sendFile(res, bytes, true) }
    },
    poll({ service, serviceUrl }, jobId) {
      const job = jobs.find(jobId, service)
      if (!job) throw new AdminError(404, 'the job does not exist')
      jobs.advance(job)
      const isCompleted = job.status === COMPLETED
      const fault = faults.takeAt('poll', [
        ...EVERY_STEP_FAULTS,
        'unknown_status',
        ...(isCompleted ? (['completed_without_url'] as const) : []),
      ])
      const answer = answerFault(fault)
      if (answer) return answer
      jobs.count(job)
      if (fault === 'unknown_status') return { body: toJobJson({ ...job, status: UNKNOWN_STATUS }, '') }
      const hasUrl = isCompleted && fault === undefined
      return { body: toJobJson(job, hasUrl ? `${serviceUrl}/changefiles/${job.fileId}.json` : '') }
    },
    result({ parameters, serviceUrl }, fileId) {
      const signature = single(parameters, 'signature')
      const bytes = files.get(fileId)
      if (signature !== undefined) {
        const isSigned = files.verify(fileId, single(parameters, 'expires') ?? '', signature)
        const hasToken = parameters.has('token')
        const isCut = (): boolean => faults.takeAt('result', ['cut_result']) !== undefined
        return { send: (res) => sendSignedFile(res, { bytes, isSigned, hasToken, isCut }) }
      }
      if (!bytes) throw gone()
      const fault = faults.takeAt('result', [
        ...EVERY_STEP_FAULTS,
        'result_gone',
        'redirect_elsewhere',
        ...(options.redirect ? [] : (['cut_result'] as const)),
      ])
      const answer = answerFault(fault)
      if (answer) return answer
      if (fault === 'result_gone') {
        files.remove(fileId)
        throw gone()
      }
      const url = `${serviceUrl}/changefiles/${fileId}.json`
      if (fault === 'redirect_elsewhere')
        return { send: (res) => sendRedirect(res, `${url}?expires=0&signature=00`) }
      if (options.redirect) return { send: (res) => sendRedirect(res, `${url}?${files.sign(fileId)}`) }
      return { send: (res) => sendFile(res, bytes, fault === 'cut_result') }
    },
    clear() {
      jobs.clear()
      files.clear()
    },
  }
}

/** A status that no public client knows. */
const UNKNOWN_STATUS = 'Reconciling'

const gone = (): AdminError => new AdminError(404, 'the file does not exist, or it was removed')

/** Faults that can occur at a request for changes. */
const submitFaults = ({ isJob, idsOnly }: ExtractRequest): ExtractionFaultName[] => [
  ...EVERY_STEP_FAULTS,
  'window_purged',
  ...(idsOnly ? (['ids_only_empty'] as const) : []),
  ...(isJob ? JOB_FAULTS : (['cut_result'] as const)),
]
