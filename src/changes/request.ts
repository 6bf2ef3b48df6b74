import { ChangesError, showUrl } from './errors.ts'
import {
  findError,
  hideInError,
  hideTokens,
  type Remedy,
  remedyOf,
  type ServiceError,
  toNetworkError,
  toServiceError,
} from './failures.ts'
import { type Json, parseAnswer } from './json.ts'
import { readBody } from './read-body.ts'
import type { Run } from './run.ts'
import { type Fetch, type FinalResponse, type OutgoingRequest, send } from './send.ts'
import { type ChangesObserver, observeStep, type StepName, type StepResult } from './steps.ts'
import type { Tokens } from './token.ts'
import { backoff, type Interval, wait } from './wait.ts'

/** What all requests of a client share. */
export interface Connection {
  tokens: Tokens
  /** Maximum size of a response in bytes. */
  limit: number
  pollInterval: Interval
  /** Default: the global `fetch`. */
  fetch?: Fetch | undefined
  observer?: ChangesObserver | undefined
}

/** A request whose response is a JSON object. */
export interface JsonRequest extends OutgoingRequest {
  step: StepName
  /** URL of the feature service. */
  service: string
  /** Throws an error if the answer says that the step failed. The observer gets this error. */
  check?(answer: Json): void
}

/** How often a request is sent if its failures may be temporary. */
const MAX_REQUESTS = 4

/** The end of one request: an answer, or an error and what to do about it. */
export type Ending<Answer> =
  | { answer: Answer }
  | { error: ChangesError; remedy: Remedy; retryAfter?: number | undefined }

/**
 * Sends a request whose response is a JSON object. It is repeated if the failure may be temporary. This includes POSTs,
 * because all operations of a client only read. A rejected token is renewed once.
 *
 * @throws {WebhookError} every code of `geohook/changes` except `changes_timeout` and `resync_required`
 */
export function requestJson(request: JsonRequest, run: Run, connection: Connection): Promise<Json> {
  const result: StepResult = { requests: 0 }
  return observeStep(connection.observer, { ...request, result }, async () => {
    try {
      const answer = await repeat(request.url, run, connection, (token) => {
        result.requests++
        return requestOnce(request, token, run.signal, connection)
      })
      if (request.step === 'poll' && typeof answer.status === 'string')
        result.state = hideTokens(answer.status, connection.tokens)
      request.check?.(answer)
      return answer
    } catch (error) {
      throw hideInError(error, connection.tokens)
    }
  })
}

/** Sends a request, and repeats it as its failures suggest. */
export async function repeat<Answer>(
  url: URL,
  run: Run,
  { tokens, pollInterval }: Pick<Connection, 'tokens' | 'pollInterval'>,
  send: (token: string | undefined) => Promise<Ending<Answer>>,
): Promise<Answer> {
  let isRenewed = false
  for (let failures = 0; ; ) {
    const token = await tokens.get(url, run.signal)
    const ending = await send(token)
    if ('answer' in ending) return ending.answer
    const { error, remedy, retryAfter = 0 } = ending
    if (remedy === 'renew_token' && !isRenewed) {
      isRenewed = true
      if (await tokens.renew(url, token, run.signal)) continue
    }
    if (remedy !== 'retry' || ++failures === MAX_REQUESTS || retryAfter > run.remaining()) throw error
    await wait(Math.max(retryAfter, backoff(pollInterval, failures - 1)), run.signal)
  }
}

async function requestOnce(
  request: JsonRequest,
  token: string | undefined,
  signal: AbortSignal,
  { limit, fetch }: Connection,
): Promise<Ending<Json>> {
  const shown = showUrl(request.url)
  return guard(shown, signal, async () => {
    const received = await send(request, token, signal, fetch)
    const text = await readBody(received.response, limit, shown)
    const found = findFailure(received.response, text, request.step, shown)
    return 'answer' in found ? found : toEnding(received, found, shown)
  })
}

/** Makes a failed connection the ending of a request. */
export async function guard<Answer>(
  shown: string,
  signal: AbortSignal,
  request: () => Promise<Ending<Answer>>,
): Promise<Ending<Answer>> {
  try {
    return await request()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ChangesError) throw error
    return { error: toNetworkError(error, shown), remedy: 'retry' }
  }
}

/** Makes an error of the service the ending of a request. */
export function toEnding(
  { response, isOtherOrigin }: FinalResponse,
  { code, message }: ServiceError,
  shown: string,
): Ending<never> {
  const remedy = remedyOf(code)
  return {
    error: toServiceError(code, message, shown, isOtherOrigin),
    remedy: isOtherOrigin && remedy === 'renew_token' ? 'none' : remedy,
    retryAfter: readRetryAfter(response.headers.get('retry-after')),
  }
}

/** Finds the answer in a response, or the error. @throws {WebhookError} `changes_malformed` */
export function findFailure(
  { ok, status }: Response,
  text: string,
  step: StepName | undefined,
  shown: string,
): { answer: Json } | ServiceError {
  let answer: Json | undefined
  try {
    answer = parseAnswer(text, shown)
  } catch (error) {
    if (ok) throw error
  }
  const found = answer && findError(answer, step === 'poll')
  if (found) return { code: found.code || (ok ? 0 : status), message: found.message }
  return ok && answer ? { answer } : { code: status, message: `the HTTP status is ${status}` }
}

/** Reads seconds or a date. Returns milliseconds from now. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const milliseconds = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return milliseconds > 0 ? milliseconds : undefined
}
