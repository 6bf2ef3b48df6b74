import type { Dispatcher } from 'undici'
import type { SignedRequest } from '../../testing/signer.ts'
import type { Clock } from '../clock.ts'
import type { Answer } from './answer.ts'
import type { Attempt } from './attempt-log.ts'
import { isBroken, lengthOf, sendBroken } from './connection-faults.ts'
import type { Fault } from './faults.ts'
import { type Outcome, send } from './http-client.ts'
import type { Target } from './target.ts'

/** One delivery: a request that is sent until it succeeds, or its attempts are spent. */
export interface Delivery {
  id: string
  webhookId: string
  target: Target
  request: SignedRequest
  fault: Readonly<Fault> | undefined
  /** Aborted when it is not to be sent any more; without one it always is. */
  patience?: AbortSignal
}

/** What every attempt needs. */
export interface AttemptTools {
  clock: Clock
  dispatcher: Dispatcher
  newId(): string
  isClosed(): boolean
  /** Called when an attempt begins. */
  record(attempt: Attempt): void
  /** Called when it has ended. */
  finished(attempt: Attempt): void
}

/**
 * Makes one attempt. It never rejects: what happens stands in the attempt.
 *
 * @param seconds how long it may take
 */
export function attempt(
  delivery: Delivery,
  number: number,
  seconds: number,
  tools: AttemptTools,
): Promise<Attempt> {
  const { id: deliveryId, webhookId, target, fault } = delivery
  const made: Attempt = {
    id: tools.newId(),
    deliveryId,
    webhookId,
    number,
    hookUrl: target.hookUrl,
    sentAt: tools.clock.now(),
    request: asSent(delivery, number),
  }
  if (fault) made.fault = fault.fault
  tools.record(made)
  return new Promise((resolve) => {
    transmit(delivery, made, seconds, tools, new Ending(made, tools, resolve))
  })
}

/** Writes down what became of an attempt. */
class Ending implements Outcome {
  private readonly made: Attempt
  private readonly tools: AttemptTools
  private readonly resolve: (made: Attempt) => void
  private readonly started = performance.now()

  constructor(made: Attempt, tools: AttemptTools, resolve: (made: Attempt) => void) {
    this.made = made
    this.tools = tools
    this.resolve = resolve
  }

  answered(answer: Answer): void {
    this.made.answer = answer
    this.end()
  }

  failed(error: unknown): void {
    this.made.error = messageOf(error)
    this.end()
  }

  private end(): void {
    this.made.milliseconds = Math.round(performance.now() - this.started)
    this.tools.finished(this.made)
    this.resolve(this.made)
  }
}

export const CLOSED = 'the mock service is closed'
export const HOST_REFUSED = 'the host is not on this machine and not in allowHosts'

/** With the headers that the connection needs. */
function asSent({ target, request, fault }: Delivery, number: number): SignedRequest {
  const { method, headers, body } = request
  const length = lengthOf(body, number === 1 ? fault?.fault : undefined)
  return { method, headers: { host: target.host, ...headers, 'content-length': String(length) }, body }
}

/** Faults of the connection are those of the first attempt, so that the next can succeed. */
function transmit(
  { target, request, fault }: Delivery,
  made: Attempt,
  seconds: number,
  { dispatcher, isClosed }: AttemptTools,
  outcome: Outcome,
): void {
  const refusal = isClosed() ? CLOSED : target.isAllowed ? undefined : HOST_REFUSED
  if (refusal) {
    outcome.failed(refusal)
    return
  }
  // The network takes its own time, whatever the clock of the service says.
  if (made.number === 1 && isBroken(fault?.fault)) {
    const wrote = (bytes: number): void => {
      made.bytesSent = (made.bytesSent ?? 0) + bytes
    }
    sendBroken(target, request, { fault: fault.fault, delay: fault.delay, seconds, wrote }).then(
      (answer) => outcome.answered(answer),
      (error) => outcome.failed(error),
    )
    return
  }
  const losesAnswer = made.number === 1 && fault?.fault === 'answer_lost'
  send(target, request, { dispatcher, seconds, losesAnswer }, outcome)
}

/** Any 2xx: which status counts is not shown, and every published sample answers 200. */
export const succeeded = ({ answer }: Attempt): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300

/** The message; where no address of a name could be reached, Node leaves it empty and has one for each address. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
