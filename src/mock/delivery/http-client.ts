import type { Dispatcher } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import { type Answer, AnswerBody, type AnswerHeaders, toAnswer } from './answer.ts'
import { atEndOfTurn } from './at-end-of-turn.ts'
import { Deadline } from './deadline.ts'
import type { Target } from './target.ts'

/** What {@link send} takes beside the request. */
export interface SendOptions {
  dispatcher: Dispatcher
  /** How long it may take, from the first try to connect to the last byte of the answer. */
  seconds: number
  /** Hangs up when the answer begins. */
  losesAnswer: boolean
}

/** Is told, once, what became of a request. */
export interface Outcome {
  answered(answer: Answer): void
  failed(error: unknown): void
}

/** Sends one attempt, and reads its answer. Redirects are not followed. */
export const send = (target: Target, request: SignedRequest, options: SendOptions, outcome: Outcome): void =>
  beginTogether(new Exchange(target, request, options, outcome))

/** The error of an attempt that took too long. */
export const timedOut = (seconds: number): Error => new Error(`no answer within ${seconds} s`)

/** Why the connection is cut after a success. */
const ENOUGH = new Error('no more of the answer is read')

const NONE: AnswerHeaders = {}

/**
 * One request and its answer, as undici tells of them. Its own promises, streams and signals are for answers of any size,
 * and take as long as all else that is done for a delivery.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly target: Target
  private readonly request: SignedRequest
  private readonly options: SendOptions
  private readonly outcome: Outcome
  private status = 0
  private headers: AnswerHeaders = NONE
  private readonly body = new AnswerBody()
  private deadline: Deadline | undefined
  place = 0
  private controller: Dispatcher.DispatchController | undefined
  private cutBy: Error | undefined
  private isOver = false

  constructor(target: Target, request: SignedRequest, options: SendOptions, outcome: Outcome) {
    this.target = target
    this.request = request
    this.options = options
    this.outcome = outcome
  }

  get seconds(): number {
    return this.options.seconds
  }

  begin(deadline: Deadline): void {
    this.deadline = deadline
    deadline.join(this)
    const { origin, path } = this.target
    const { method, headers, body } = this.request
    this.options.dispatcher.dispatch({ origin, path, method, headers, body }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // It waited for a connection until its time was over: nothing is sent.
    if (this.cutBy) controller.abort(this.cutBy)
  }

  /** Told of informational answers too, before the answer itself. */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (this.options.losesAnswer && status >= 200) this.cut(new Error('the answer was lost'))
    this.status = status
    this.headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.body.add(chunk)) return
    this.onResponseEnd()
    controller.abort(ENOUGH)
  }

  onResponseEnd(): void {
    if (this.end()) endTogether(this)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.end()) this.outcome.failed(error)
  }

  tellAnswer(): void {
    this.outcome.answered(toAnswer(this.status, this.headers, this.body.text()))
  }

  cut(error = timedOut(this.seconds)): void {
    if (!this.end()) return
    this.outcome.failed(error)
    this.cutBy = error
    this.controller?.abort(error)
  }

  /** @returns whether it was not over before */
  private end(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.deadline?.leave(this)
    return true
  }
}

// What is sent in a turn of the event loop is written together, and what comes of it is worked on together.
const beginTogether = atEndOfTurn((exchanges: readonly Exchange[]) => {
  const deadlines = new Map<number, Deadline>()
  for (const exchange of exchanges) {
    const deadline = deadlines.get(exchange.seconds) ?? new Deadline(exchange.seconds)
    deadlines.set(exchange.seconds, deadline)
    exchange.begin(deadline)
  }
})
const endTogether = atEndOfTurn((exchanges: readonly Exchange[]) => {
  for (const exchange of exchanges) exchange.tellAnswer()
})
