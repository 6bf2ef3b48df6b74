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
import type { Answer } from '../../http/operation.ts'
import { sendSignIn } from '../../http/router.ts'
import { type Service, servicePath } from '../../state/services.ts'
import type { FeatureData } from '../feature-data.ts'
import { createDocument, type ExtractRequest, MAX_DOCUMENT, responseType, toBytes } from './document.ts'
import type { ResolvedExtractOptions } from './options.ts'

export interface ExtractionCall {
  data: FeatureData
  service: Readonly<Service>
  /** The URL of the service, without a slash at its end. */
  serviceUrl: string
}

/** A job that writes changes to a file. */
interface Job {
  readonly id: string
  /** Path of the service. */
  readonly service: string
  readonly hasEdits: boolean
  readonly fault: JobFaultName | undefined
  /** Milliseconds since 1970. */
  readonly submitted: number
  updated: number
  polls: number
  status: string
}

/** The query of a signed URL, and whether the query also has a token. */
interface SignedQuery {
  expires: string
  signature: string
  hasToken: boolean
}

const COMPLETED = 'Completed'
/** A status that no public client knows. */
const UNKNOWN_STATUS = 'Reconciling'

const END: Readonly<Record<JobFaultName, string | undefined>> = {
  job_failed: 'Failed',
  completed_with_errors: 'CompletedWithErrors',
  never_done: undefined,
}

/** Maximum number of jobs. The oldest is removed first. */
const MAX_JOBS = 1000

/** Extracts changes: at once, or by jobs that write files. */
export class Extractions {
  readonly options: ResolvedExtractOptions
  readonly #now: () => number
  readonly #faults: FaultStore
  readonly #jobs = new Map<string, Job>()
  readonly #files: ChangeFiles

  constructor(now: () => number, options: ResolvedExtractOptions, faults: FaultStore) {
    this.options = options
    this.#now = now
    this.#faults = faults
    this.#files = new ChangeFiles(now, options.fileLifetime)
  }

  submit({ data, service, serviceUrl }: ExtractionCall, request: ExtractRequest): Answer {
    const fault = this.#faults.takeAt('submit', [
      ...EVERY_STEP_FAULTS,
      'window_purged',
      ...(request.idsOnly ? (['ids_only_empty'] as const) : []),
      ...(request.isJob ? JOB_FAULTS : (['cut_result'] as const)),
    ])
    if (fault === 'window_purged') throw purgedError(data.generation)
    const answer = answerFault(fault)
    if (answer) return answer
    const document = createDocument({ data, request, serviceUrl, isEmpty: fault === 'ids_only_empty' })
    if (!request.isJob && fault !== 'cut_result') return { body: document.body }
    const bytes = toBytes(document.body)
    if (!request.isJob) return { send: (res) => sendFile(res, bytes, true) }
    const submitted = this.#now()
    const id = randomUUID()
    this.#files.add(id, bytes)
    this.#jobs.set(id, {
      id,
      service: servicePath(service),
      hasEdits: document.hasEdits,
      fault: fault && isJobFault(fault) ? fault : undefined,
      submitted,
      updated: submitted,
      polls: 0,
      status: '',
    })
    const [oldest = ''] = this.#jobs.keys()
    if (this.#jobs.size > MAX_JOBS) this.#jobs.delete(oldest)
    return { body: { statusUrl: `${serviceUrl}/jobs/${id}` } }
  }

  poll({ service, serviceUrl }: ExtractionCall, jobId: string): Answer {
    const job = this.#jobs.get(jobId)
    if (job?.service !== servicePath(service)) throw new AdminError(404, 'the job does not exist')
    const status = this.#statusOf(job)
    if (status !== job.status) job.updated = this.#now()
    job.status = status
    const isCompleted = status === COMPLETED
    const fault = this.#faults.takeAt('poll', [
      ...EVERY_STEP_FAULTS,
      'unknown_status',
      ...(isCompleted ? (['completed_without_url'] as const) : []),
    ])
    const answer = answerFault(fault)
    if (answer) return answer
    job.polls += 1
    if (fault === 'unknown_status') return { body: toJobJson({ ...job, status: UNKNOWN_STATUS }, '') }
    const hasUrl = isCompleted && fault === undefined
    return { body: toJobJson(job, hasUrl ? fileUrl(serviceUrl, jobId) : '') }
  }

  #statusOf({ polls, submitted, fault }: Job): string {
    const { options } = this
    const byPolls = options.polls === 0 ? 1 : polls / options.polls
    const byTime = options.duration === 0 ? 1 : (this.#now() - submitted) / options.duration
    const progress = Math.min(byPolls, byTime, 1)
    const end = fault ? END[fault] : COMPLETED
    if (progress === 1 && end !== undefined) return end
    const { states } = options
    return states[Math.min(Math.floor(progress * states.length), states.length - 1)] as string
  }

  /** @param id id of the job that wrote the file */
  result({ serviceUrl }: ExtractionCall, id: string): Answer {
    const { redirect } = this.options
    const bytes = this.#files.get(id)
    if (!bytes) throw gone()
    const fault = this.#faults.takeAt('result', [
      ...EVERY_STEP_FAULTS,
      'result_gone',
      'redirect_elsewhere',
      ...(redirect ? [] : (['cut_result'] as const)),
    ])
    const answer = answerFault(fault)
    if (answer) return answer
    if (fault === 'result_gone') {
      this.#files.remove(id)
      throw gone()
    }
    const url = fileUrl(serviceUrl, id)
    if (fault === 'redirect_elsewhere')
      return { send: (res) => sendRedirect(res, `${url}?expires=0&signature=00`) }
    if (redirect) return { send: (res) => sendRedirect(res, `${url}?${this.#files.sign(id)}`) }
    return { send: (res) => sendFile(res, bytes, fault === 'cut_result') }
  }

  /**
   * Sends a file as a host for files does: the HTTP status is that of the error, and a token is an error, because it must
   * not leave the service.
   */
  signedResult(id: string, { expires, signature, hasToken }: SignedQuery): Answer {
    const bytes = this.#files.get(id)
    const isSigned = this.#files.verify(id, expires, signature)
    return {
      send: (res) => {
        const { headers } = res.req
        if (hasToken || headers.authorization !== undefined || headers['x-esri-authorization'] !== undefined)
          sendError(
            res,
            400,
            'the request has a token, which must not be sent to another host than the service',
          )
        else if (!isSigned) sendError(res, 403, 'the signature of the URL is invalid, or it has expired')
        else if (!bytes) sendError(res, 404, gone().message)
        else sendFile(res, bytes, this.#faults.takeAt('result', ['cut_result']) !== undefined)
      },
    }
  }

  clear(): void {
    this.#jobs.clear()
    this.#files.clear()
  }
}

const fileUrl = (serviceUrl: string, id: string): string => `${serviceUrl}/changefiles/${id}.json`

const gone = (): AdminError => new AdminError(404, 'the file does not exist, or it was removed')

/** The error for a window that begins before the oldest change that is kept. */
export const purgedError = (minGeneration: number): AdminError =>
  new AdminError(
    400,
    'The changes of these generations are no longer kept: they begin before minServerGen. Query all features, then extract the changes after the current serverGen.',
    `minServerGen: ${minGeneration}`,
  )

/**
 * The description of a job. The member of an error is not documented; it has what the documentation of similar jobs
 * names, and the `message` that clients show (docs/decisions.md).
 *
 * @param resultUrl empty while there is no file
 */
const toJobJson = ({ hasEdits, submitted, updated, status }: Job, resultUrl: string): object => ({
  responseType: responseType(hasEdits),
  resultUrl,
  submissionTime: submitted,
  lastUpdatedTime: updated,
  status,
  transportType: 'esriTransportTypeUrl',
  ...(status === END.job_failed ? { error: FAILURE } : {}),
})

const FAILURE = {
  code: 500,
  message: 'Unable to extract the changes.',
  description: 'Unable to extract the changes.',
}

/** Maximum number of files, and of all their bytes. The file that was not used for the longest time is removed first. */
const MAX_FILES = 1000
const MAX_BYTES = 2 * MAX_DOCUMENT

/** The files with the results of jobs, by the id of the job. */
class ChangeFiles {
  /** The least recently used file first. */
  readonly #files = new Map<string, { bytes: Buffer; usedAt: number }>()
  readonly #key = randomBytes(32)
  readonly #now: () => number
  readonly #lifetime: number
  #total = 0

  /** @param lifetime milliseconds */
  constructor(now: () => number, lifetime: number) {
    this.#now = now
    this.#lifetime = lifetime
  }

  add(id: string, bytes: Buffer): void {
    this.#files.set(id, { bytes, usedAt: this.#now() })
    this.#total += bytes.length
    this.#removeOld()
  }

  /** Returns a file, and prolongs its life. */
  get(id: string): Buffer | undefined {
    this.#removeOld()
    const file = this.#files.get(id)
    if (!file) return undefined
    this.remove(id)
    this.add(id, file.bytes)
    return file.bytes
  }

  remove(id: string): void {
    this.#total -= this.#files.get(id)?.bytes.length ?? 0
    this.#files.delete(id)
  }

  #removeOld(): void {
    for (const [id, { usedAt }] of this.#files) {
      const isExpired = this.#now() - usedAt >= this.#lifetime
      if (!isExpired && this.#files.size <= MAX_FILES && this.#total <= MAX_BYTES) return
      this.remove(id)
    }
  }

  clear(): void {
    this.#files.clear()
    this.#total = 0
  }

  /** Returns the query of a signed URL, valid for the lifetime of a file. */
  sign(id: string): string {
    const expires = String(this.#now() + this.#lifetime)
    return `expires=${expires}&signature=${this.#signatureOf(id, expires).toString('hex')}`
  }

  verify(id: string, expires: string, signature: string): boolean {
    const given = Buffer.from(signature, 'hex')
    const right = this.#signatureOf(id, expires)
    return given.length === right.length && timingSafeEqual(given, right) && Number(expires) > this.#now()
  }

  #signatureOf(id: string, expires: string): Buffer {
    return createHmac('sha256', this.#key).update(`${id} ${expires}`).digest()
  }
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
}

/** @param isCut whether the connection ends in the middle of the file */
function sendFile(res: ServerResponse, bytes: Buffer, isCut: boolean): void {
  res.writeHead(200, { ...HEADERS, 'content-length': bytes.length })
  if (isCut) res.write(bytes.subarray(0, bytes.length >> 1), () => res.destroy())
  else res.end(bytes)
}

/** Redirects to the same URL on another host: `localhost` and 127.0.0.1 are two names of this machine. */
function sendRedirect(res: ServerResponse, location: string): void {
  const url = new URL(location)
  if (isLoopback(url.hostname)) url.hostname = url.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
  res.writeHead(302, { 'cache-control': 'no-store', location: url.href }).end()
}

function sendError(res: ServerResponse, code: number, message: string): void {
  res.writeHead(code, HEADERS).end(JSON.stringify({ error: { code, message, details: [] } }))
}

/** Answers a request with a fault of every step; undefined for another fault. */
function answerFault(fault: ExtractionFaultName | undefined): Answer | undefined {
  if (fault === 'token_expired') throw new AdminError(498, 'Invalid token.')
  if (fault === 'error_with_200') throw new AdminError(500, 'Unable to complete operation.')
  return fault === 'html_answer' ? { send: sendSignIn } : undefined
}
