import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { isLoopback } from '../../../shared/loopback.ts'
import {
  EVERY_STEP_FAULTS,
  type ExtractionFaultName,
  type FaultStore,
  isJobFault,
  JOB_FAULTS,
  type JobFaultName,
} from '../../faults/faults.ts'
import { AdminError } from '../../http/errors.ts'
import type { Parameters } from '../../http/operation.ts'
import { single } from '../../http/request.ts'
import type { FeatureData } from '../feature-data.ts'
import { type ChangeDocument, createDocument, MAX_DOCUMENT, responseType, toBytes } from './document.ts'
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
  submit(call: ExtractionCall): ExtractionAnswer
  poll(call: ExtractionCall, jobId: string): ExtractionAnswer
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

/** Maximum number of jobs. The oldest is removed first. */
const MAX_JOBS = 1000

/** A job that writes changes to a file. */
export interface Job {
  readonly id: string
  /** Path of the service. */
  readonly service: string
  readonly fileId: string
  readonly hasEdits: boolean
  readonly fault: JobFaultName | undefined
  /** Milliseconds since 1970. */
  readonly submitted: number
  updated: number
  polls: number
  status: string
}

/** The jobs of a mock. */
export interface Jobs {
  submit(job: Pick<Job, 'service' | 'fileId' | 'hasEdits' | 'fault'>): Job
  find(id: string, service: string): Job | undefined
  /** Moves a job to the state that a poll finds now. */
  advance(job: Job): void
  /** Counts a poll. */
  count(job: Job): void
  clear(): void
}

export const COMPLETED = 'Completed'

const END: Readonly<Record<JobFaultName, string | undefined>> = {
  job_failed: 'Failed',
  completed_with_errors: 'CompletedWithErrors',
  never_done: undefined,
}

export function createJobs(
  now: () => number,
  { states, polls, duration }: Pick<ResolvedExtractOptions, 'states' | 'polls' | 'duration'>,
): Jobs {
  const jobs = new Map<string, Job>()

  /** From 0 to 1. */
  function progressOf(job: Job): number {
    const byPolls = polls === 0 ? 1 : job.polls / polls
    const byTime = duration === 0 ? 1 : (now() - job.submitted) / duration
    return Math.min(byPolls, byTime, 1)
  }

  function statusOf(job: Job): string {
    const progress = progressOf(job)
    const end = job.fault ? END[job.fault] : COMPLETED
    if (progress === 1 && end !== undefined) return end
    return states[Math.min(Math.floor(progress * states.length), states.length - 1)] as string
  }

  return {
    submit(job) {
      const submitted = now()
      const created = { ...job, id: randomUUID(), submitted, updated: submitted, polls: 0, status: '' }
      jobs.set(created.id, created)
      const [oldest] = jobs.keys()
      if (jobs.size > MAX_JOBS && oldest !== undefined) jobs.delete(oldest)
      return created
    },
    find(id, service) {
      const job = jobs.get(id)
      return job?.service === service ? job : undefined
    },
    advance(job) {
      const status = statusOf(job)
      if (status !== job.status) job.updated = now()
      job.status = status
    },
    count: (job) => void job.polls++,
    clear: () => jobs.clear(),
  }
}

/**
 * The description of a job. The member of an error is not documented; it has what the documentation of similar jobs
 * names, and the `message` that clients show (docs/decisions.md).
 *
 * @param resultUrl empty while there is no file
 */
export function toJobJson(job: Job, resultUrl: string): object {
  return {
    responseType: responseType(job.hasEdits),
    resultUrl,
    submissionTime: job.submitted,
    lastUpdatedTime: job.updated,
    status: job.status,
    transportType: 'esriTransportTypeUrl',
    ...(job.status === END.job_failed ? { error: FAILURE } : {}),
  }
}

const FAILURE = {
  code: 500,
  message: 'Unable to extract the changes.',
  description: 'Unable to extract the changes.',
}

/** Maximum number of files, and of all their bytes. The file that was not used for the longest time is removed first. */
const MAX_FILES = 1000
const MAX_BYTES = 2 * MAX_DOCUMENT

/** The files with the results of jobs. */
interface ChangeFiles {
  /** @returns the id of the file */
  add(bytes: Buffer): string
  /** Returns a file, and prolongs its life. */
  get(id: string): Buffer | undefined
  remove(id: string): void
  clear(): void
  /** Returns the query of a signed URL, valid for the lifetime of a file. */
  sign(id: string): string
  /** Checks the query of a signed URL. */
  verify(id: string, expires: string, signature: string): boolean
}

/** @param lifetime milliseconds */
export function createChangeFiles(now: () => number, lifetime: number): ChangeFiles {
  /** The least recently used file first. */
  const files = new Map<string, { bytes: Buffer; usedAt: number }>()
  const key = randomBytes(32)
  let total = 0

  function remove(id: string): void {
    total -= files.get(id)?.bytes.length ?? 0
    files.delete(id)
  }

  function removeOld(): void {
    for (const [id, { usedAt }] of files) {
      const isExpired = now() - usedAt >= lifetime
      if (!isExpired && files.size <= MAX_FILES && total <= MAX_BYTES) return
      remove(id)
    }
  }

  const signatureOf = (id: string, expires: string): Buffer =>
    createHmac('sha256', key).update(`${id} ${expires}`).digest()

  return {
    add(bytes) {
      const id = randomUUID()
      files.set(id, { bytes, usedAt: now() })
      total += bytes.length
      removeOld()
      return id
    },
    get(id) {
      removeOld()
      const file = files.get(id)
      if (!file) return undefined
      files.delete(id)
      files.set(id, { bytes: file.bytes, usedAt: now() })
      return file.bytes
    },
    remove,
    clear() {
      files.clear()
      total = 0
    },
    sign(id) {
      const expires = String(now() + lifetime)
      return `expires=${expires}&signature=${signatureOf(id, expires).toString('hex')}`
    },
    verify(id, expires, signature) {
      const given = Buffer.from(signature, 'hex')
      const right = signatureOf(id, expires)
      return given.length === right.length && timingSafeEqual(given, right) && Number(expires) > now()
    },
  }
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
}

/** @param isCut whether the connection ends in the middle of the file */
export function sendFile(res: ServerResponse, bytes: Buffer, isCut: boolean): void {
  res.writeHead(200, { ...HEADERS, 'content-length': bytes.length })
  if (isCut) res.write(bytes.subarray(0, bytes.length >> 1), () => res.destroy())
  else res.end(bytes)
}

/** Redirects to the same URL on another host: `localhost` and 127.0.0.1 are two names of this machine. */
export function sendRedirect(res: ServerResponse, location: string): void {
  const url = new URL(location)
  if (isLoopback(url.hostname)) url.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
  res.writeHead(302, { 'cache-control': 'no-store', location: url.href }).end()
}

/** A request for a file by its signed URL. */
interface SignedFile {
  bytes: Buffer | undefined
  isSigned: boolean
  /** Whether the query has a token. */
  hasToken: boolean
  isCut(): boolean
}

/**
 * Sends a file as a host for files does: the HTTP status is that of the error, and a token is an error, because it must
 * not leave the service.
 */
export function sendSignedFile(res: ServerResponse, { bytes, isSigned, hasToken, isCut }: SignedFile): void {
  const { headers } = res.req
  if (hasToken || headers.authorization !== undefined || headers['x-esri-authorization'] !== undefined)
    sendError(res, 400, 'the request has a token, which must not be sent to another host than the service')
  else if (!isSigned) sendError(res, 403, 'the signature of the URL is invalid, or it has expired')
  else if (!bytes) sendError(res, 404, 'the file does not exist, or it was removed')
  else sendFile(res, bytes, isCut())
}

function sendError(res: ServerResponse, code: number, message: string): void {
  res.writeHead(code, HEADERS).end(JSON.stringify({ error: { code, message, details: [] } }))
}

const PAGE = '<!doctype html><html lang="en"><title>Sign in</title><p>Sign in to see this page.</p></html>'

/**
 * Answers a request with a fault of every step.
 *
 * @returns undefined for another fault
 */
export function answerFault(
  fault: ExtractionFaultName | undefined,
): { send(res: ServerResponse): void } | undefined {
  if (fault === 'token_expired') throw new AdminError(498, 'Invalid token.')
  if (fault === 'error_with_200') throw new AdminError(500, 'Unable to complete operation.')
  return fault === 'html_answer' ? { send: sendPage } : undefined
}

function sendPage(res: ServerResponse): void {
  res.writeHead(200, { 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' }).end(PAGE)
}
