import type { ChangeType } from '../payload/change-types.ts'
import type { StoredDelivery } from './delivery.ts'
import type { HandleResult, Handler } from './dispatch.ts'
import type { AttemptContext } from './handler-context.ts'
import type { Outcome } from './outcome.ts'
import type { ReceiverRequest } from './request.ts'

/** Counters of a receiver: see {@link Receiver.stats}. */
export interface ReceiverStats {
  /** Number of requests since the receiver was created, by the kind of their outcome. */
  outcomes: Record<Outcome['kind'], number>
  /** Number of requests in flight, excluding requests that arrived after `close()`. */
  inFlight: number
  /** True after `close()` was called. */
  closed: boolean
}

/** Receives webhooks: verifies and decodes requests, and passes their events to handlers. */
export interface Receiver<Payload = unknown> {
  /**
   * Registers a handler for one change type, several, or all (`'*'`). `'FeaturesEdited'` covers created, updated
   * and deleted features. Handlers run one after another, in the order of registration. Emits a process warning for a
   * name that is nearly that of a known change type, and later for each received change type without a handler.
   *
   * @throws {WebhookError} `config_invalid`
   */
  on<const T extends ChangeType>(changeTypes: T | readonly T[], handler: Handler<T, Payload>): this
  /** Returns true if events of the change type have a handler at the moment. */
  handles(changeType: ChangeType): boolean
  /**
   * Processes one request, from verification to handlers. For adapters: applications mount the receiver with
   * `webhook()` of their framework's entry, or call `fetch`. No request can make the returned promise reject.
   *
   * @param respond writes the response; `close()` waits for it
   */
  receive(request: ReceiverRequest, respond?: (outcome: Outcome) => unknown): Promise<Outcome>
  /**
   * Handles a web `Request`, for Next.js, Workers, Deno, Bun and other platforms that use `Request` and `Response`.
   *
   * @param context the second argument of the framework's route handler; its `params`, or a promise of them, are
   *   passed to a `signatureKey` function as route parameters
   */
  fetch(request: Request, context?: unknown): Promise<Response>
  /**
   * Decodes a stored delivery from its bytes and runs its handlers. For engines of inboxes: applications call
   * `inbox.work(receiver)`. Resolves with `'unhandled'` if the receiver has no handler for any event of the delivery.
   *
   * @throws {WebhookError} `payload_malformed`, `payload_invalid` if the delivery cannot be decoded; `config_invalid`
   *   if `stored` is not a stored delivery or the receiver has no handlers
   * @throws what the failed handler threw, or an `AggregateError` if several handlers failed
   */
  handle(stored: StoredDelivery, context?: AttemptContext): Promise<HandleResult>
  /**
   * Decodes several stored deliveries and runs the handlers once for all of them. For engines of inboxes: applications
   * call `inbox.work(receiver, { coalesce })`. Each handler gets one event for each feature service: the newest of the
   * events, with a `changesUrl` that covers all of them. Events without a `changesUrl` are passed one by one.
   *
   * @param stored at least one delivery
   * @returns one result for each delivery, as `handle` returns it
   * @throws {WebhookError} like `handle`
   * @throws what the failed handler threw, or an `AggregateError` if several handlers failed
   */
  handleTogether(stored: readonly StoredDelivery[], context?: AttemptContext): Promise<HandleResult[]>
  /**
   * Returns counters for a health endpoint. Calls are cheap.
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
   * Rejects new requests with 503, and resolves when all requests in flight have a response. A handler must not await
   * `close()`, because `close()` waits for that handler.
   */
  close(): Promise<void>
}
