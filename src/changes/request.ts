import { ChangesError, showUrl } from './errors.ts'
import { findError, type Remedy, remedyOf, toNetworkError, toServiceError } from './failures.ts'
import { type Json, parseAnswer } from './json.ts'
import { readBody } from './read-body.ts'
import type { Run } from './run.ts'
import { type Sent, send } from './send.ts'
import { type ChangesObserver, observeStep, type StepName, type StepResult } from './steps.ts'
import type { Tokens } from './token.ts'
import { backoff, type Interval, wait } from './wait.ts'

/** What all requests of a client share. */
export interface Connection {
  tokens: Tokens
  /** Maximum size of a response in bytes. */
  limit: number
  pollInterval: Interval
  observer?: ChangesObserver | undefined
}

/** A request whose response is a JSON object. */
export interface Question extends Sent {
  step: StepName
  /** URL of the feature service. */
  service: string
}

/** How often a request is sent if its failures may pass. */
const MAX_REQUESTS = 4

/** The end of one request: an answer, or an error and what to do about it. */
type Ending = { answer: Json } | { error: ChangesError; remedy: Remedy; retryAfter?: number | undefined }

/**
 * Asks for a JSON object. Requests are repeated if the failure may pass, also POSTs: all operations of a client only
 * read, so a repetition changes nothing. A rejected token is renewed once.
 *
 * @throws {WebhookError} every code of the room except `changes_timeout` and `resync_required`
 */
export function ask(question: Question, run: Run, connection: Connection): Promise<Json> {
  const result: StepResult = { requests: 0 }
  return observeStep(connection.observer, { ...question, result }, async () => {
    let isRenewed = false
    for (let failures = 0; ; ) {
      const token = await connection.tokens.get(question.url, run.signal)
      result.requests++
      const ending = await askOnce(question, token, run.signal, connection.limit)
      if ('answer' in ending) {
        if (question.step === 'poll') result.state = String(ending.answer.status)
        return ending.answer
      }
      const { error, remedy, retryAfter = 0 } = ending
      if (remedy === 'token' && !isRenewed) {
        isRenewed = true
        if (await connection.tokens.renew(question.url, token, run.signal)) continue
      }
      if (remedy !== 'again' || ++failures === MAX_REQUESTS || retryAfter > run.remaining()) throw error
      await wait(Math.max(retryAfter, backoff(connection.pollInterval, failures - 1)), run.signal)
    }
  })
}

async function askOnce(
  question: Question,
  token: string | undefined,
  signal: AbortSignal,
  limit: number,
): Promise<Ending> {
  const shown = showUrl(question.url)
  try {
    const { response, isElsewhere } = await send(question, token, signal)
    const text = await readBody(response, limit, shown)
    const failure = findFailure(response, text, question, shown)
    if ('answer' in failure) return failure
    // Services quote what they got, and the token is part of that.
    const message = token ? failure.message.replaceAll(token, '***') : failure.message
    const error = toServiceError(failure.code, message, shown, isElsewhere)
    const remedy = remedyOf(failure.code)
    return {
      error,
      remedy: isElsewhere && remedy === 'token' ? 'none' : remedy,
      retryAfter: readRetryAfter(response.headers.get('retry-after')),
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ChangesError) throw error
    return { error: toNetworkError(error, shown), remedy: 'again' }
  }
}

function findFailure(
  { ok, status }: Response,
  text: string,
  { step }: Question,
  shown: string,
): { answer: Json } | { code: number; message: string } {
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
