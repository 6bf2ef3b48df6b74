import type { Dispatcher } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import { type Answer, AnswerBody } from './answer.ts'
import type { Target } from './target.ts'

/** What {@link send} takes beside the request. */
export interface SendOptions {
  dispatcher: Dispatcher
  /** How long it may take, from the first try to connect to the last byte of the answer. */
  seconds: number
  /** Hangs up when the answer begins. */
  losesAnswer: boolean
}

/** Sends one attempt, and reads its answer. Redirects are not followed. */
export function send(
  { origin, path }: Target,
  { method, headers, body }: SignedRequest,
  { dispatcher, seconds, losesAnswer }: SendOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(resolve, reject, seconds, losesAnswer)
    dispatcher.dispatch({ origin, path, method, headers, body }, exchange)
  })
}

/** The error of an attempt that took too long. */
export const timedOut = (seconds: number): Error => new Error(`no answer within ${seconds} s`)

/** Why the connection is cut after a success. */
const ENOUGH = new Error('no more of the answer is read')

/**
 * One request and its answer, as undici tells of them. Its own promises, streams and signals are for answers of any size,
 * and take as long as all else that is done for a delivery.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly resolve: (answer: Answer) => void
  private readonly reject: (error: Error) => void
  private readonly losesAnswer: boolean
  private readonly timer: NodeJS.Timeout
  private readonly answer: Answer = { status: 0, headers: {}, body: '' }
  private readonly body = new AnswerBody()
  private controller: Dispatcher.DispatchController | undefined
  private cutBy: Error | undefined

  constructor(
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
    seconds: number,
    losesAnswer: boolean,
  ) {
    this.resolve = resolve
    this.reject = reject
    this.losesAnswer = losesAnswer
    this.timer = setTimeout(() => this.cut(timedOut(seconds)), seconds * 1000)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    // It waited for a connection until its time was over: nothing is sent.
    if (this.cutBy) controller.abort(this.cutBy)
  }

  /** Told of informational answers too, before the answer itself. */
  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Answer['headers'],
  ): void {
    if (this.losesAnswer && status >= 200) this.cut(new Error('the answer was lost'))
    this.answer.status = status
    this.answer.headers = headers
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.body.add(chunk)) return
    this.onResponseEnd()
    controller.abort(ENOUGH)
  }

  onResponseEnd(): void {
    clearTimeout(this.timer)
    this.answer.body = this.body.text()
    this.resolve(this.answer)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.timer)
    this.reject(error)
  }

  private cut(error: Error): void {
    clearTimeout(this.timer)
    this.reject(error)
    this.cutBy = error
    this.controller?.abort(error)
  }
}
