import { ChangesError, showUrl } from './errors.ts'
import { findError, hideTokens } from './failures.ts'
import type { Json } from './json.ts'
import type { Origins } from './origins.ts'
import { type Connection, requestJson } from './request.ts'
import type { Run } from './run.ts'
import { backoff, wait } from './wait.ts'

/** States in which a job has ended without a file, in lower case and without blanks. Every other state may pass. */
const FAILED: ReadonlySet<string> = new Set([
  'completedwitherrors',
  'failed',
  'cancelled',
  'canceled',
  'timedout',
])

/** The file of a job, or the changes if the service put them into the state of the job. */
export type JobResult = { file: URL } | { document: Json }

/**
 * Polls a job until it has a file. `Completed` without a URL is not the end, because services set the URL later.
 *
 * @throws {WebhookError} `changes_failed` with the state of a failed job, `changes_url_refused`
 */
export async function awaitJob(
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
