import {
  abortable,
  backoff,
  discard,
  type Fetch,
  findError,
  type Interval,
  readBytes,
  type ServiceError,
  showUrl,
  toRequest,
  wait,
} from '../shared/client.ts'
import { type Json, toText } from '../shared/json.ts'
import { isLoopback, isSecure } from '../shared/loopback.ts'
import { createRedactor } from '../shared/redact.ts'
import type { Tokens } from '../shared/tokens.ts'
import {
  ChangesError,
  MAX_TEXT,
  parseAnswer,
  type Remedy,
  remedyOf,
  toNetworkError,
  toServiceError,
} from './errors.ts'
import { type Origins, refuse } from './origins.ts'
import type { ChangesObserver, StepName, StepResult } from './types.ts'

export interface Connection {
  tokens: Tokens
  /** Sent with each request that may get the token. */
  referer?: string | undefined
  origins: Origins
  /** Maximum size of a response in bytes. */
  limit: number
  pollInterval: Interval
  /** Default: the global `fetch`. */
  fetch?: Fetch | undefined
  observer?: ChangesObserver | undefined
}

interface JsonRequest extends Omit<OutgoingRequest, 'allowsOtherOrigin'> {
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

export async function repeat<Answer>(
  url: URL,
  run: Run,
  { tokens, pollInterval }: Pick<Connection, 'tokens' | 'pollInterval'>,
  send: (token: string | undefined) => Promise<Ending<Answer>>,
): Promise<Answer> {
  let isRenewed = false
  for (let failures = 0; ; ) {
    const token = await tokens.get(url, run.signal)
    const ending = await send(token).catch((error: unknown) => toNetworkEnding(error, url, run.signal))
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
  connection: Connection,
): Promise<Ending<Json>> {
  const shown = showUrl(request.url)
  const allowsOtherOrigin = request.step === 'fetch'
  const received = await send({ ...request, allowsOtherOrigin }, token, signal, connection)
  const text = await readBody(received.response, connection.limit, shown)
  const found = findFailure(received.response, text, request.step, shown)
  return 'answer' in found ? found : toEnding(received, found, shown)
}

/** Converts the error of a failed connection to the ending of the request. */
function toNetworkEnding(error: unknown, url: URL, signal: AbortSignal): Ending<never> {
  signal.throwIfAborted()
  if (error instanceof ChangesError) throw error
  return { error: toNetworkError(error, showUrl(url)), remedy: 'retry' }
}

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

interface OutgoingRequest {
  url: URL
  /** Fields of a POST. Without them, the request is a GET. */
  fields?: Readonly<Record<string, string>> | undefined
  /** True if redirects to another origin are followed, as for files. */
  allowsOtherOrigin: boolean
}

export interface FinalResponse {
  response: Response
  /** True if it is from another origin, to which a redirect led and which did not get the token. */
  isOtherOrigin: boolean
}

const MAX_REDIRECTS = 4

/**
 * Sends a request and follows its redirects. The token is never part of a URL, which logs and proxies store: a POST has
 * it in its form, a GET in the vendor's header. `fetch` would copy that header to other origins, so redirects are
 * followed here.
 *
 * @throws {WebhookError} `changes_url_refused`; a failed connection throws what `request` throws
 */
export async function send(
  { url, fields, allowsOtherOrigin }: OutgoingRequest,
  token: string | undefined,
  signal: AbortSignal,
  { referer, fetch: request = (target, init) => fetch(target, init) }: Pick<Connection, 'referer' | 'fetch'>,
): Promise<FinalResponse> {
  let target = url
  let isOtherOrigin = false
  for (let redirects = 0; ; redirects++) {
    const response = await request(target, {
      redirect: 'manual',
      signal,
      ...(isOtherOrigin ? {} : toRequest(fields, token, referer)),
    })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || location === null)
      return { response, isOtherOrigin }
    await discard(response)
    if (redirects === MAX_REDIRECTS)
      throw refuse(
        `${showUrl(url)} redirects more than ${MAX_REDIRECTS} times`,
        'Open the URL in a browser to see where it leads.',
      )
    target = requireTarget(location, target, allowsOtherOrigin)
    // An origin that a redirect has left gets no token and no referer either if a later redirect returns to it.
    isOtherOrigin ||= target.origin !== url.origin
  }
}

/** @throws {WebhookError} `changes_url_refused` */
function requireTarget(location: string, from: URL, allowsOtherOrigin: boolean): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
  if (target?.username || target?.password || !target || !/^https?:$/.test(target.protocol))
    throw refuse(`${showUrl(from)} redirects to an invalid URL`, 'No request was sent there.')
  if (target.origin === from.origin) return target
  if (!allowsOtherOrigin)
    throw refuse(
      `${showUrl(from)} redirects to ${showUrl(target)}`,
      'Only files may redirect to another origin. Check whether the service requires a login page.',
    )
  if (!isSecure(target) || (isLoopback(target.hostname) && !isLoopback(from.hostname)))
    throw refuse(
      `${showUrl(from)} redirects to ${showUrl(target)}`,
      'Files may redirect only to https, and to this machine only from this machine.',
    )
  return target
}

/**
 * Reads a body as text. The bytes are decoded once and as a whole: texts of chunks would be in memory twice when they
 * are joined, with two bytes for each character if one of them is not Latin.
 *
 * @param limit maximum number of bytes after decompression
 * @throws {WebhookError} `changes_too_large`, `changes_malformed`; a connection that breaks throws what `fetch` throws
 */
async function readBody(response: Response, limit: number, shown: string): Promise<string> {
  const bytes = await readBytes(response, limit, () => tooLarge(limit, shown))
  try {
    return toText(bytes)
  } catch {
    throw new ChangesError('changes_malformed', {
      message: `the response of ${shown} is not valid UTF-8`,
      hint: 'Check that the URL is that of a feature service.',
    })
  } finally {
    free(bytes)
  }
}

/**
 * Detaches the memory of the bytes, so that it can be freed before the text is parsed. Otherwise it would stay until the
 * next full garbage collection.
 */
function free({ buffer }: Uint8Array<ArrayBuffer>): void {
  structuredClone(buffer, { transfer: [buffer] })
}

const tooLarge = (limit: number, shown: string): ChangesError =>
  new ChangesError('changes_too_large', {
    message: `the response of ${shown} is larger than ${limit} bytes`,
    hint: 'Raise the option limit, or extract more often so that the windows are smaller. In a query, name fewer outFields.',
  })

/** Runs a step inside the observer's `around`. It runs exactly once, whatever `around` does. */
export function observeStep<Result>(
  observer: ChangesObserver | undefined,
  { step, service, result }: { step: StepName; service: string; result: StepResult },
  run: () => Promise<Result>,
): Promise<Result> {
  if (!observer) return run()
  let running: Promise<Result> | undefined
  let shown: Promise<StepResult> | undefined
  const start = (): Promise<Result> => (running ??= Promise.resolve().then(run))
  const show = (): Promise<StepResult> =>
    (shown ??= start().then(
      () => ({ ...result }),
      (error: unknown) => ({ ...result, error }),
    ))
  try {
    Promise.resolve(observer.around?.({ step, service, run: show })).catch(() => {})
  } catch {}
  return start()
}

/** One extraction: its time limit, and the state of its job. */
export interface Run {
  /** Aborted by the caller's signal, and at the time limit. */
  signal: AbortSignal
  /** Milliseconds until the time limit. */
  remaining(): number
  /** Last state of the job, for the error at the time limit. */
  state?: string | undefined
}

/**
 * Runs a function until the signal is aborted or the time has passed, whichever is first. Even a function that ignores
 * its signal does not delay the result.
 *
 * @param timeout in milliseconds
 * @throws {WebhookError} `changes_timeout`; the signal's reason if it is aborted
 */
export async function runWithin<Result>(
  timeout: number,
  signal: AbortSignal | undefined,
  extract: (run: Run) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const end = performance.now() + timeout
  const run: Run = { signal: controller.signal, remaining: () => end - performance.now() }
  const abort = (): void => controller.abort(signal?.reason)
  const expire = (): void => {
    const job = run.state === undefined ? '' : `; the state of the job was ${run.state.slice(0, 100)}`
    const error = new ChangesError('changes_timeout', {
      message: `there was no result within ${timeout} ms${job}`,
      hint: 'Try again later, or raise the option timeout. Keep it below the timeout of the inbox.',
      state: run.state,
    })
    controller.abort(error)
  }
  const timer = setTimeout(expire, timeout)
  signal?.addEventListener('abort', abort)
  try {
    return await abortable(extract(run), run.signal)
  } catch (error) {
    // Some runtimes reject with an error of their own when a request is aborted.
    run.signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Hides the known tokens of a client in a text from a service, and shortens the text. */
export const hideTokens = (text: string, tokens: Tokens): string =>
  createRedactor(tokens.known()).text(text, MAX_TEXT)

/** Hides the known tokens of a client in an error, because services can quote them in messages, states and URL paths. */
export function hideInError(error: unknown, tokens: Tokens): unknown {
  if (!(error instanceof ChangesError)) return error
  const { code, message, hint, state, serviceCode, cause } = error
  const hide = (text: string): string => hideTokens(text, tokens)
  const safe = {
    message: hide(message),
    hint: hide(hint),
    state: state && hide(state),
    ...(cause === undefined ? {} : { cause: hideInError(cause, tokens) }),
  }
  const isSafe =
    safe.message === message && safe.hint === hint && safe.state === state && safe.cause === cause
  return isSafe ? error : new ChangesError(code, { ...safe, serviceCode })
}
