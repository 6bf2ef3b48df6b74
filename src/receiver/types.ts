import type { WebhookError } from '../errors.ts'
import type { ChangeType, HandledEvent, MatchedChangeType, Parsed, WebhookEvent } from '../payload/events.ts'
import type { HeaderBag } from '../shared/headers.ts'
import type { KeyringFile, ReturnedKeys, SignatureKeys } from '../signature/keyring.ts'
import type { Profile, ProfileName, SecretProfile } from '../signature/profiles.ts'
import type { SignatureEncoding } from '../signature/signature.ts'

export type { HeaderBag }

/** A request without its body. */
export interface RequestHead {
  readonly method: string
  /** Path and query as received, or the whole URL if the platform provides it. */
  readonly url: string
  readonly headers: HeaderBag
  /** Route parameters, if the framework has them. */
  readonly params?: Readonly<Record<string, string | string[] | undefined>> | undefined
  /**
   * The IP address of the peer: the sender or, behind a proxy, the proxy. Never taken from a header. Undefined if the
   * platform does not know it.
   */
  readonly remoteAddress?: string | undefined
}

/** Options of {@link ReceiverRequest.read}. */
export interface ReadOptions {
  /** Maximum body size in bytes. A larger body causes `body_too_large`. */
  limit: number
  /** Counts the bytes of a chunk. Call it with each chunk as it arrives, in order. */
  onChunk(chunk: Uint8Array): void
  /**
   * Hashes the next part of the body before the rest arrives, so that less work remains at the end. Calls are optional.
   * Pass large parts only, from the start of the body and without gaps.
   */
  hash?(part: Uint8Array): void
}

/**
 * A request in the form that adapters pass to the receiver. The adapter then writes the {@link Outcome} as the
 * response, unchanged.
 */
export interface ReceiverRequest extends RequestHead {
  /**
   * Reads the exact bytes of the body. May return them synchronously if all of them have arrived.
   *
   * @throws {WebhookError} `body_too_large`, `body_aborted`, `body_already_parsed`
   */
  read(options: ReadOptions): Uint8Array | Promise<Uint8Array>
  /**
   * Cancels the rest of the body. Called at most once, before the response is written, if the body may not have been
   * read completely. May return a promise, for which the response waits. If the end of the body has not arrived by
   * then, the response must close the connection, so that no proxy sends another delivery on it.
   *
   * @param limit maximum number of bytes to read and discard. Discarding lets the sender finish and read the response
   */
  cancel?(limit: number): void
  /**
   * Passes a verified delivery to the framework's next handler. Called only if the receiver has neither handlers nor an
   * inbox. Rejects if the handler has failed without a response.
   */
  next?: ((delivery: Delivery) => Promise<NextResult>) | undefined
}

/**
 * The part of a verified delivery that inboxes store. The other members of a delivery can be decoded from this part.
 */
export interface StoredDelivery {
  /**
   * 32 hex digits. Every request with the same bytes, key and tenant has the same id, in every process. The id does not
   * disclose the signature or the key.
   */
  id: string
  /** The exact bytes of the body. */
  rawBody: Uint8Array
  contentType: string
  /**
   * All headers of the request, including the signature. Only the value of the header `secret`, in which organizations
   * send their key, and of the profile's `secretHeader` is replaced by `***`.
   */
  headers: HeaderBag
  receivedAt: Date
  /** Name of the receiver's profile, or `caught_up`. With `portal`, or another profile with `secretHeader`, the body is not signed. */
  profile: string
  /** The index of the key that matched the signature or, for such a profile, the header; 0 is the newest key. Absent if the delivery was unsigned. */
  keyIndex?: number
  /**
   * The tenant that the key function returned. The request was verified with one of its keys, unless it was unsigned. Do
   * not identify the tenant by the payload: a tenant can sign a payload about the service of another one.
   */
  tenant?: string
}

/** A verified delivery: the stored part plus the decoded payload and its events. */
export interface Delivery<Payload = unknown> extends Parsed<Payload>, StoredDelivery {}

/**
 * Remembers which deliveries are in progress and which are done. A delivery is done only after its handlers have
 * succeeded, so that a retry after a failure is handled.
 */
export interface DuplicateStore {
  /**
   * Claims the delivery for this attempt. Resolves with `'busy'` if another attempt is in progress, or with `'done'` if
   * the delivery has already been handled. Must be atomic.
   */
  claim(id: string): Promise<'claimed' | 'busy' | 'done'>
  /** Records that the delivery has been handled. */
  done(id: string): Promise<void>
  /** Removes the claim after a failure, so that the sender's next attempt is handled. */
  release(id: string): Promise<void>
}

/** The result of a request, and its HTTP response. */
export interface Outcome {
  kind: 'handled' | 'unhandled' | 'stored' | 'duplicate' | 'handshake' | 'refused' | 'failed'
  /** The status of the response, also if the framework's next handler has sent that response. */
  status: number
  /** The headers of the response; empty if the framework's next handler has sent it. */
  headers: Record<string, string>
  /** ASCII text; empty if the framework's next handler has sent the response. */
  body: string
  /** True to close the connection after the response, because the receiver is closed. */
  close?: boolean
  error?: WebhookError
}

/** Handles one event. Without an inbox, the receiver responds after the returned promise has settled. */
export type Handler<T extends string = string, Payload = unknown> = (
  event: HandledEvent<MatchedChangeType<T>>,
  delivery: Delivery<Payload>,
  context: HandlerContext,
) => unknown

/** `'unhandled'` if the receiver has no handler for any event of the delivery. */
export type HandleResult = 'handled' | 'unhandled'

/** One attempt to handle a delivery. */
export interface AttemptContext {
  /**
   * Aborted when the inbox stops waiting for the handler, for example after the inbox's `timeout`. Without an inbox, it
   * is never aborted.
   */
  signal: AbortSignal
  /** Number of this attempt to handle the delivery, from 1. Without an inbox it is always 1. */
  attempt: number
  /**
   * The fencing token of the delivery: each attempt of an inbox has a higher one than the attempts before. A system that
   * remembers the highest token of a delivery can reject writes of a late attempt. Undefined without an
   * inbox.
   */
  token?: number | undefined
  /** True if the delivery was done before, and `rerun()` of the inbox made it due again. */
  rerun?: true | undefined
}

/** Options of {@link Receiver.handle}. */
export interface HandleOptions extends Partial<AttemptContext> {
  /** Runs only the handlers with this name; `''` those without a name. Default: all. */
  handler?: string | undefined
}

/**
 * Options of a handler. Handlers with the same name share their fate, and their options. Handlers without a name are one
 * more fate.
 */
export interface HandlerOptions {
  /**
   * With an inbox, gives the handler a fate of its own: own attempts and dead letters, so that its failures do not make
   * the other handlers run again. At most 100 letters, digits, `_`, `-`, `.` and `:`. Default: no name.
   */
  name?: string | undefined
  /** Like the option of the inbox, for this name; 1 to 1,000. */
  attempts?: number | undefined
  /** Like the option of the inbox, for this name: milliseconds, 1 to 2^31 - 1. */
  timeout?: number | undefined
  /**
   * Maximum number of deliveries that each process handles at the same time under this name, next to those of other
   * names; 1 to 1,000. Default: the handlers share the `concurrency` of the workers.
   */
  concurrency?: number | undefined
}

/** The deliveries that one handler call handles together. */
export interface JoinedDeliveries {
  /** The deliveries that contain these events, oldest first. */
  readonly deliveries: readonly Delivery[]
  /** The events that were joined into the handler's first argument, oldest first. */
  readonly events: readonly WebhookEvent[]
}

/** The third argument of a handler. */
export interface HandlerContext extends AttemptContext {
  /**
   * Runs a function after all handlers of the delivery have succeeded, and before the inbox records it as done. The
   * functions run one after another, in reverse order. `changes.of` stores its generations after all of them. If a
   * handler fails, none of them runs. If one of them fails, the attempt fails. All handlers of an attempt get the same
   * function, and each attempt has its own.
   */
  readonly onSuccess: (run: () => unknown) => void
  /**
   * Present for handlers of `on` if the workers of an inbox use `coalesce`, also for a delivery that is handled alone.
   */
  readonly together?: JoinedDeliveries | undefined
}

/** Passed to every observer function that is called at the end of a request. */
export interface Ended {
  request: RequestHead
  /** The tenant that the key function returned. If the request is refused, nothing proves that it is from this tenant. */
  tenant?: string | undefined
  /** The result of the request. Its `kind`, `status` and `error` describe what happened. */
  outcome: Outcome
  /** Duration of the request, measured with the receiver's clock. */
  milliseconds: number
}

/**
 * Functions that are called as requests are processed. They receive the headers and the bytes of the request, which is
 * all that `explain` needs, but never a key. Their return values and exceptions are ignored.
 *
 * Each request ends with exactly one call of `handled`, `unhandled`, `duplicate`, `handshake`, `refused` or `failed`,
 * before the receiver responds.
 */
export interface Observer<Payload = unknown> {
  /**
   * Called when a request begins. If the observer calls `run` synchronously, everything that the request causes (key
   * functions, handlers, stores) runs inside that call, for example within an active span. `run` resolves with the
   * outcome and never rejects. Later calls of `run` return the same promise; if `run` is never called, the request
   * is processed anyway.
   */
  around?(seen: { request: RequestHead; run: () => Promise<Outcome> }): unknown
  /** Called when a delivery is verified and decoded, before its handlers run. */
  accepted?(seen: {
    delivery: Delivery<Payload>
    request: RequestHead
    /** That of {@link KeyStats}. Undefined for an unsigned delivery, and with a key function. */
    keyFingerprint?: string | undefined
  }): unknown
  /** Called if a request is rejected, or if a handshake finds no key. `body` is set if the body was read. */
  refused?(seen: Ended & { error: WebhookError; body?: Uint8Array | undefined }): unknown
  /** Called for a delivery that has already been handled (status 200) or is in progress (409). */
  duplicate?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /**
   * Called when the handlers have succeeded, or when the inbox has stored the delivery. In the second case,
   * `outcome.kind` is `'stored'`.
   */
  handled?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /** Called if the receiver has no handler for any event of the delivery. The sender gets 200: a retry would not help. */
  unhandled?(seen: Ended & { delivery: Delivery<Payload> }): unknown
  /**
   * Called if a handler or the inbox failed; `error.cause` is the thrown error, or an `AggregateError` if several handlers
   * failed.
   */
  failed?(seen: Ended & { delivery: Delivery<Payload>; error: WebhookError }): unknown
  /** Called when the receiver has answered a handshake with a signature. */
  handshake?(seen: Ended): unknown
}

/**
 * Returns the keys for one request, or `{ keys, tenant }` to also name their tenant. For an unknown tenant, returns null,
 * undefined or an empty list as the keys.
 */
export type KeyFunction = (request: RequestHead) => ReturnedKeys | Promise<ReturnedKeys>

/** A durable store for verified deliveries. */
export interface Inbox {
  /**
   * Stores a delivery. Resolves once the delivery would survive a crash: with `'duplicate'` if the inbox already has
   * it, otherwise with any other value. Rejects if the delivery cannot be stored.
   */
  put(delivery: Delivery): Promise<unknown>
  /** Counts the deliveries, for `receiver.stats()`. Optional. Rejects while they cannot be counted. */
  stats?(): Promise<InboxStats>
}

/**
 * State of a delivery: `waiting` for its next attempt; `active` while a process runs its handlers; `done` after its
 * handlers succeeded; `dead` (a dead letter) after its last attempt failed; `unhandled` if no worker had a handler
 * for it.
 */
export type InboxState = 'waiting' | 'active' | 'done' | 'dead' | 'unhandled'

/** Number of deliveries in each state, the limit on pending ones, and the settings for the workers. */
export interface InboxStats extends Record<InboxState, number> {
  /** Maximum number of waiting and active deliveries. At this limit, the inbox rejects new deliveries. */
  maxPending: number
  /** When the oldest waiting delivery was received. */
  oldest?: Date
  /** True between `pause()` and `resume()` of the inbox. */
  paused: boolean
  /** The value of `setConcurrency()` of the inbox. Absent if it is not set. */
  concurrency?: number
}

/** Options of {@link createReceiver}, also listed in docs/reference.md. */
export type ReceiverOptions<Payload = unknown> = CommonReceiverOptions<Payload> &
  (
    | {
        /**
         * The webhook's `signatureKey`: a string, bytes, a list of several keys (newest first), or a function that
         * returns any of these; or the result of `keyring` of `geohook/node`, for keys in a file. The value may be missing only if `unsigned` is `'accept'`; the type allows `undefined`,
         * so that you can pass an environment variable.
         */
        signatureKey: SignatureKeys | KeyFunction | KeyringFile | undefined
        /**
         * `'accept'` accepts requests without a signature. Use it only for senders before version 11.2. Default
         * `'reject'`.
         */
        unsigned?: 'reject' | 'accept' | undefined
      }
    | { signatureKey?: undefined; unsigned: 'accept' }
  )

/** The options of {@link createReceiver} except those that say who may send deliveries. */
export interface CommonReceiverOptions<Payload = unknown> {
  /**
   * The kind of sender: a name, or an object. Default `'service'`. Other options take precedence over it. With `'portal'`
   * the body is not signed: see {@link SecretProfile}.
   */
  profile?: ProfileName | Profile | SecretProfile | undefined
  /** The header with the signature, case-insensitive. Default `'x-service'`. */
  signatureHeader?: string | undefined
  /** The encoding of the signature. Default `'auto'`: hex or base64. */
  encoding?: SignatureEncoding | undefined
  /** Maximum body size, in bytes or as `'512kb'` or `'1mb'` (1 kb = 1024 bytes). Default `'1mb'`. */
  limit?: number | string | undefined
  /**
   * Maximum body bytes of all requests in flight together, in the same format as `limit`; at least `limit`. Further
   * requests are rejected with 503. Default: `'64mb'` or `limit`, whichever is larger.
   */
  maxInFlightBytes?: number | string | undefined
  /** Maximum milliseconds for the whole body to arrive, 1 to 2^31 - 1. Default 10,000. */
  bodyTimeout?: number | undefined
  /**
   * Maximum milliseconds between now and the time of the newest event, which may be in the past or the future. At least
   * 1. Default: not checked.
   */
  maxAge?: number | undefined
  /** If `maxAge` is set: whether to reject or accept payloads without a valid event time. Default `'reject'`. */
  untimed?: 'reject' | 'accept' | undefined
  /** Remembers handled deliveries, so that no delivery is handled twice. Default: none. */
  duplicates?: DuplicateStore | undefined
  /** Stores deliveries before the receiver responds. Default: none; the handlers run before the response. */
  inbox?: Inbox | undefined
  /** Any Standard Schema. It validates the payload and determines its type. */
  schema?: StandardSchema<Payload> | undefined
  /** Functions called as requests are processed. Default: rejections and failures become process warnings. */
  observer?: Observer<NoInfer<Payload>> | undefined
  /** Returns the current time in milliseconds since 1970; for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

/** Any schema that implements Standard Schema (standardschema.dev) version 1: zod, valibot, arktype and others. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** Returns the output of the schema, or the issues of an invalid payload. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] }

/** How often a key of a receiver has matched. */
export interface KeyStats {
  /**
   * The first four hex digits of the SHA-256 of the key: enough to compare keys, too few to identify a random one.
   */
  fingerprint: string
  /** The id of the key in the file of a keyring. */
  id?: string
  /** Number of requests that were signed with the key or, if the sender does not sign, contained it. */
  matched: number
  /** When the key matched last. Absent if it never did. */
  lastMatched?: Date
}

/** Counters of a receiver: see {@link Receiver.stats}. */
export interface ReceiverStats {
  /** Random id of the receiver. Each process, and each receiver in it, has another one. */
  instance: string
  /** The keys, newest first. Keys that have left the file of a keyring are missing. Absent with a key function. */
  keys?: KeyStats[]
  /** Number of requests since the receiver was created, by the kind of their outcome. */
  outcomes: Record<Outcome['kind'], number>
  /** Number of requests in flight, excluding requests that arrived after `close()`. */
  inFlight: number
  /** True after `close()` was called. */
  closed: boolean
  /** The deliveries in the inbox, or null while it cannot be read. Absent without an inbox that has `stats()`. */
  inbox?: InboxStats | null
}

/** Receives webhooks: verifies and decodes requests, and passes their events to handlers. */
export interface Receiver<Payload = unknown> {
  /**
   * Registers a handler for one change type, several, or all (`'*'`). `'FeaturesEdited'` covers created, updated
   * and deleted features. Handlers run one after another, in the order of registration. Emits a process warning for a
   * name that is nearly that of a known change type, and later for each received change type without a handler.
   *
   * @param options a name, which gives the handler a fate of its own in an inbox
   * @throws {WebhookError} `config_invalid`
   */
  on<const T extends ChangeType>(
    changeTypes: T | readonly T[],
    handler: Handler<T, Payload>,
    options?: HandlerOptions,
  ): this
  /**
   * Registers a handler that runs once for each delivery, whatever its events, for example to forward `rawBody`. It runs
   * in the order of registration among the handlers of the first event.
   *
   * @throws {WebhookError} `config_invalid`
   * @example
   * ```ts
   * import { createReceiver } from 'geohook'
   *
   * createReceiver({ signatureKey: 'parcels2026' }).onDelivery(async (delivery, { signal }) => {
   *   await fetch('https://archive.example', { method: 'POST', body: delivery.rawBody.slice(), signal })
   * })
   * ```
   */
  onDelivery(
    handler: (delivery: Delivery<Payload>, context: HandlerContext) => unknown,
    options?: HandlerOptions,
  ): this
  /**
   * Handles a web `Request`, for Next.js, Workers, Deno, Bun and other platforms that use `Request` and `Response`.
   *
   * @param context the second argument of the framework's route handler; its `params`, or a promise of them, are
   *   passed to a `signatureKey` function as route parameters
   */
  fetch(request: Request, context?: unknown): Promise<Response>
  /**
   * Decodes a stored delivery from its bytes and runs its handlers. For queues of your own; with an inbox of geohook, call
   * `inbox.work(receiver)`. Resolves with `'unhandled'` if the receiver has no handler for any event of the delivery, or
   * none with the name `handler`.
   *
   * @throws {WebhookError} `payload_malformed`, `payload_invalid` if the delivery cannot be decoded; `config_invalid`
   *   if `stored` is not a stored delivery or the receiver has no handlers
   * @throws what the failed handler threw, or an `AggregateError` if several handlers failed
   */
  handle(stored: StoredDelivery, options?: HandleOptions): Promise<HandleResult>
  /**
   * Counts requests, and the deliveries in the inbox, for a health endpoint. Never rejects. Waits for the inbox: while
   * its store is unreachable, up to 5 seconds with PostgreSQL.
   *
   * @example
   * ```ts
   * import { createServer } from 'node:http'
   * import { createReceiver } from 'geohook'
   *
   * const receiver = createReceiver({ signatureKey: 'parcels2026' })
   * createServer(async (_, res) => {
   *   const stats = await receiver.stats()
   *   const isReady = !stats.closed && stats.inbox !== null
   *   res.writeHead(isReady ? 200 : 503).end(JSON.stringify(stats))
   * }).listen(3001)
   * ```
   */
  stats(): Promise<ReceiverStats>
  /**
   * Rejects new requests with 503, and resolves when all requests in flight have a response. A handler must not await
   * `close()`, because `close()` waits for that handler.
   */
  close(): Promise<void>
}

/** What the framework's next handler did with a delivery. */
export interface NextResult {
  /** The status of its response; undefined if the framework will use its default success status. */
  status?: number | undefined
  /** The error that the handler threw. Set only if it makes the delivery a failure, whatever the status is. */
  thrown?: unknown
}
