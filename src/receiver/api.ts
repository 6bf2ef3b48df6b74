import type { ChangeType } from '../payload/change-types.ts'
import type { StoredDelivery } from './delivery.ts'
import type { Handler, HandlerContext } from './dispatch.ts'
import type { Outcome } from './outcome.ts'
import type { ReceiverRequest } from './request.ts'

/** How a receiver is, in numbers: see {@link Receiver.stats}. */
export interface ReceiverStats {
  /** Requests that ended, since the receiver was made, by the kind of their outcome. */
  outcomes: Record<Outcome['kind'], number>
  /** Requests that are not answered yet, without those that came after `close`. */
  atWork: number
  /** Whether `close` was called. */
  closed: boolean
}

/** Receives webhooks: verifies, decodes, and hands events to handlers. */
export interface Receiver<Payload = unknown> {
  /**
   * Registers a handler for one change type, several, or all (`'*'`). `'FeaturesEdited'` covers created, updated
   * and deleted features. Handlers run one after another, in the order of registration.
   *
   * @throws {WebhookError} `config_invalid`
   */
  on<const T extends ChangeType>(changeTypes: T | readonly T[], handler: Handler<T, Payload>): this
  /**
   * The whole pipeline, for adapters. Whatever a sender sends, it does not reject.
   *
   * @param answer writes the outcome; it belongs to the work that `close` waits for
   */
  receive(request: ReceiverRequest, answer?: (outcome: Outcome) => unknown): Promise<Outcome>
  /**
   * The adapter for everything that speaks `Request` and `Response`: Hono, Next.js, Workers, Deno, Bun.
   *
   * @param context what the framework hands over beside the request; its `params`, also as a promise, are the route
   *   parameters that a `signatureKey` function sees
   */
  fetch(request: Request, context?: unknown): Promise<Response>
  /**
   * Runs the handlers of a delivery that an inbox has kept: what `inbox.work` calls. It is decoded again from its bytes.
   *
   * @throws {WebhookError} `payload_malformed`, `payload_invalid` where it cannot be decoded; `config_invalid` without handlers
   * @throws {AggregateError} with the error of each handler that failed
   */
  handle(stored: StoredDelivery, context?: HandlerContext): Promise<void>
  /**
   * How the receiver is, for a health endpoint: plain data, counted anyway, so it can be asked at any rate.
   *
   * @example
   * ```ts
   * import { createServer } from 'node:http'
   * import { createReceiver } from 'geohook'
   *
   * const receiver = createReceiver({ signatureKey: 'parcels2026' })
   * createServer((_, res) => {
   *   const stats = receiver.stats()
   *   res.writeHead(stats.closed ? 503 : 200).end(JSON.stringify(stats))
   * }).listen(3001)
   * ```
   */
  stats(): ReceiverStats
  /**
   * Refuses what comes from now on (503), and resolves when all that is at work is answered. A handler must not wait
   * for it: it would wait for itself.
   */
  close(): Promise<void>
}
