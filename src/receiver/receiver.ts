import { importKey } from '#runtime'
import { blameCaller, configInvalid, guard, stacklessError, WebhookError } from '../errors.ts'
import type { ChangeType } from '../payload/events.ts'
import { parse } from '../payload/parse.ts'
import type { HmacKey } from '../runtime/hmac.ts'
import { toBinary, utf8 } from '../shared/bytes.ts'
import { malformed } from '../shared/json.ts'
import { encodeSignature } from '../signature/signature.ts'
import { CAUGHT_UP, handleOnce, requireStored } from './delivery.ts'
import { Dispatcher } from './dispatch.ts'
import type { Seen } from './observer.ts'
import { type Config, readOptions, validate, warnOfUnsigned } from './options.ts'
import {
  copyOutcome,
  errorOutcome,
  handshakeOutcome,
  respondedOutcome,
  succeeded,
  toWebhookError,
} from './outcome.ts'
import { RECEIVER_PORT, type ReceiverPort } from './port.ts'
import { createByteBudget, readBody, readHeader, redactSecrets, requireReadable } from './request.ts'
import type {
  Delivery,
  Handler,
  HandlerContext,
  HandlerOptions,
  Inbox,
  KeyStats,
  NextResult,
  Outcome,
  Receiver,
  ReceiverOptions,
  ReceiverRequest,
  ReceiverStats,
  RequestHead,
  StoredDelivery,
} from './types.ts'
import { startSecretVerification, startSignatureVerification, type Verification } from './verify.ts'
import { toReceiverRequest, toResponse } from './web.ts'

/**
 * Creates a receiver. Mount it with the adapter of your framework, for example `geohook/express`, or pass
 * `receiver.fetch` to a platform that uses web requests.
 *
 * @throws {WebhookError} `config_invalid` for an invalid option
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' })
 *   .on('FeaturesCreated', (event) => console.log(event.service.serviceName, event.changesUrl))
 *   .on('*', (event, delivery) => console.log(delivery.id, event.changeType))
 * ```
 */
export function createReceiver<Payload = unknown>(options: ReceiverOptions<Payload>): Receiver<Payload> {
  const config = blameCaller(createReceiver, () => readOptions((options ?? {}) as ReceiverOptions))
  warnOfUnsigned(config)
  return new HookReceiver<Payload>(config)
}

/** Creates a receiver without a warning about unsigned bodies, to which `explain` passes one request. */
export const createQuietReceiver = (options: ReceiverOptions): Receiver =>
  new HookReceiver(readOptions(options))

/** Its public members are functions of their own, so that `receiver.fetch` can be passed alone. */
class HookReceiver<Payload> implements Receiver<Payload> {
  readonly #config: Config
  readonly #handlers: Dispatcher
  readonly #countBytes: ReturnType<typeof createByteBudget>
  readonly #outcomes: ReceiverStats['outcomes'] = {
    handled: 0,
    unhandled: 0,
    stored: 0,
    duplicate: 0,
    handshake: 0,
    refused: 0,
    failed: 0,
  }
  /** Keys that have left a file are collected. */
  readonly #keyStats = new WeakMap<HmacKey, KeyStats>()
  #instance = ''
  #inFlight = 0
  /** Set by `close()`. Resolves when the requests in flight at that time have a response. */
  #closed: Promise<void> | undefined
  #onIdle = (): void => {}

  constructor(config: Config) {
    this.#config = config
    this.#handlers = new Dispatcher(config.inbox !== undefined)
    this.#countBytes = createByteBudget(config)
    this.on = this.on.bind(this)
    this.onDelivery = this.onDelivery.bind(this)
    const port: ReceiverPort = {
      receive: this.#receive,
      changeTypes: () => this.#handlers.changeTypes(),
      fates: this.#handlers.fates,
      handleTogether: async (stored, context) => {
        stored.forEach(requireStored)
        this.#requireHandlers()
        const deliveries = await Promise.all(stored.map((one) => this.#toDelivery(one)))
        return this.#handlers.dispatchTogether(deliveries, context)
      },
    }
    // The class does not declare it: with a computed name in it, bundlers could not leave out the class.
    Object.assign(this, { [RECEIVER_PORT]: port })
  }

  on<const T extends ChangeType>(
    changeTypes: T | readonly T[],
    handler: Handler<T, Payload>,
    options?: HandlerOptions,
  ): this {
    this.#handlers.add(changeTypes, handler as Handler, options)
    return this
  }

  onDelivery(
    handler: (delivery: Delivery<Payload>, context: HandlerContext) => unknown,
    options?: HandlerOptions,
  ): this {
    this.#handlers.addForDelivery(handler as Parameters<Dispatcher['addForDelivery']>[0], options)
    return this
  }

  fetch: Receiver['fetch'] = async (request, context) =>
    toResponse(await this.#receive(await toReceiverRequest(request, context)))

  readonly #receive: ReceiverPort['receive'] = async (request, respond) => {
    const isAwaited = !this.#closed // close() does not wait for requests that arrive after it
    if (isAwaited) this.#inFlight++
    try {
      const { method, url, params, remoteAddress } = request
      const headers = redactSecrets(request.headers, this.#config.redacted)
      const head = { method, url, headers, params, remoteAddress }
      const outcome = await this.#config.notifier.around(head, () => this.#read(request, head))
      if (this.#closed) outcome.close = true
      await respond?.(outcome)
      return outcome
    } finally {
      if (isAwaited) this.#inFlight--
      if (this.#inFlight === 0) this.#onIdle()
    }
  }

  handle: Receiver['handle'] = async (stored, context) => {
    requireStored(stored)
    this.#requireHandlers()
    return this.#handlers.dispatch(await this.#toDelivery(stored), context)
  }

  stats: Receiver['stats'] = async () => {
    // Created on the first call, because Cloudflare Workers cannot generate random values before a request.
    this.#instance ||= crypto.randomUUID()
    const { keys, inbox, clock } = this.#config
    const stats: ReceiverStats = {
      instance: this.#instance,
      outcomes: { ...this.#outcomes },
      inFlight: this.#inFlight,
      closed: !!this.#closed,
    }
    if (keys) {
      const keyring = await keys.current(clock)
      stats.keys = await Promise.all(
        keyring.map(async (key) =>
          Object.assign(structuredClone(await this.#statsOf(key)), key.id && { id: key.id }),
        ),
      )
    }
    const stored = await readInbox(inbox)
    if (stored !== undefined) stats.inbox = stored
    return stats
  }

  async #statsOf(key: HmacKey): Promise<KeyStats> {
    const fingerprint = this.#keyStats.get(key)?.fingerprint ?? (await key.fingerprint())
    const stats = this.#keyStats.get(key) ?? { fingerprint, matched: 0 }
    this.#keyStats.set(key, stats)
    return stats
  }

  close: Receiver['close'] = async () => {
    this.#closed ??= new Promise((resolve) => {
      this.#onIdle = resolve
      if (this.#inFlight === 0) resolve()
    })
    await this.#closed
    // Callers of fetch() write the Response only after its promise has resolved, so wait one more event loop tick.
    await new Promise((resolve) => setTimeout(resolve))
  }

  /** Processes a request until its body has arrived, then calls `accept`. No request makes the promise reject. */
  async #read(request: ReceiverRequest, head: RequestHead): Promise<Outcome> {
    const config = this.#config
    const { handshake } = config.profile
    const startedAt = config.clock()
    const seen: Seen = { request: head }
    try {
      if (this.#closed) throw new WebhookError('receiver_closed')
      if (handshake && head.method === 'GET') {
        const outcome = await answerHandshake(seen, config, handshake)
        await request.cancel?.(config.limit)
        return this.#report(outcome, seen, startedAt)
      }
      if (head.method !== 'POST') throw stacklessError('method_not_allowed')
      requireReadable(head, config)
      const counter = this.#countBytes()
      try {
        const start = config.secretHeader === undefined ? startSignatureVerification : startSecretVerification
        const verification = await start(seen, config, request.headers)
        const reading = Promise.resolve(readBody(request, config, counter, verification.update))
        const { started } = verification
        const arriving = started ? Promise.all([reading, started]).then(([body]) => body) : reading
        return await arriving.then((body) =>
          this.#accept(request, verification, { request: head, body, tenant: seen.tenant }, startedAt),
        )
      } finally {
        counter.release()
      }
    } catch (thrown) {
      await request.cancel?.(config.limit)
      return this.#report(this.#failure(thrown, false), seen, startedAt)
    }
  }

  /**
   * Verifies the body, then parses and handles it. This is a function of its own, because V8 would keep a large body in
   * memory longer if `read` had a variable for it (docs/architecture.md, "Speed").
   */
  async #accept(
    request: ReceiverRequest,
    verification: Verification,
    seen: Seen & { body: Uint8Array },
    startedAt: number,
  ): Promise<Outcome> {
    const { request: head, body } = seen
    const { clock, duplicates, keys, notifier, profile } = this.#config
    try {
      const verified = await verification.end(body)
      if (!verified) return this.#report(handshakeOutcome({ status: 'registered' }), seen, startedAt)
      const { proof, key } = verified
      const stats = key && keys && (await this.#statsOf(key))
      if (stats) {
        stats.matched++
        stats.lastMatched = new Date(clock())
      }
      if (looksLikeToken(body)) throw malformed('the body could be a handshake token')
      const delivery = await this.#toDelivery({
        rawBody: body,
        contentType: readHeader(head.headers, 'content-type') ?? '',
        headers: head.headers,
        receivedAt: new Date(clock()),
        profile: profile.name,
        ...proof,
      })
      requireFresh(delivery, this.#config)
      seen.delivery = delivery
      notifier.notify('accepted', { delivery, request: head, keyFingerprint: stats?.fingerprint })
      const outcome = await (duplicates
        ? handleOnce(duplicates, delivery.id, () => this.#take(delivery, request))
        : this.#take(delivery, request))
      return this.#report(outcome, seen, startedAt)
    } catch (thrown) {
      return this.#report(this.#failure(thrown, seen.delivery !== undefined), seen, startedAt)
    }
  }

  /** Stores a delivery, or runs the handlers. Without handlers, runs the framework's next handler. */
  async #take(delivery: Delivery, { next }: ReceiverRequest): Promise<Outcome> {
    const { inbox } = this.#config
    if (inbox) {
      const result = await guard('inbox_unavailable', () => inbox.put(delivery))
      return succeeded(result === 'duplicate' ? result : 'stored')
    }
    if (this.#handlers.size === 0 && next) return runNext(next, delivery)
    try {
      return succeeded(await this.#handlers.dispatch(delivery))
    } catch (cause) {
      throw new WebhookError('handler_failed', { cause })
    }
  }

  /** Counts the outcome, and notifies the observer exactly once per request. */
  #report(outcome: Outcome, seen: Seen, startedAt: number): Outcome {
    const { kind, error } = outcome
    const { clock, notifier } = this.#config
    this.#outcomes[kind]++
    notifier.notify(kind === 'stored' ? 'handled' : kind, {
      outcome: copyOutcome(outcome),
      error,
      milliseconds: clock() - startedAt,
      ...seen,
    })
    return outcome
  }

  #failure(thrown: unknown, isDelivery: boolean): Outcome {
    const allow = this.#config.profile.handshake ? 'GET, POST' : 'POST'
    return errorOutcome(toWebhookError(thrown), allow, isDelivery, this.#config.clock())
  }

  async #toDelivery(stored: StoredDelivery): Promise<Delivery> {
    const { schema, signatureHeader } = this.#config
    const parsed = parse(stored.rawBody, stored.contentType, signatureHeader)
    // The parsed members come last, because an inbox may pass a delivery that already has such members to handle().
    // Object spread would be slower (docs/architecture.md, "Speed").
    const delivery: Delivery = Object.assign({}, stored, parsed)
    // The schema does not apply to a delivery that no service sent.
    if (stored.profile === CAUGHT_UP) for (const event of delivery.events) event.kind = CAUGHT_UP
    else if (schema) delivery.payload = await validate(schema, delivery.payload)
    return delivery
  }

  /** Without this check, stored deliveries would count as done although no handler will ever run. */
  #requireHandlers(): void {
    if (this.#handlers.size === 0) throw configInvalid('handle() needs a handler: call receiver.on() first')
  }
}

/** Resolves with null while the inbox cannot be read, and with undefined if it has no `stats()`. */
async function readInbox(inbox: Inbox | undefined): Promise<ReceiverStats['inbox']> {
  try {
    return typeof inbox?.stats === 'function' ? await inbox.stats() : undefined
  } catch {
    return null
  }
}

/**
 * Rejects a delivery whose newest event is more than `maxAge` milliseconds in the past or in the future. The event time
 * is part of the signed body, so an attacker who replays a captured delivery cannot change it.
 *
 * @param acceptUntimed whether to accept payloads without an event time
 * @throws {WebhookError} `delivery_stale`
 */
function requireFresh(
  { events }: Delivery,
  { maxAge, acceptUntimed, clock }: { maxAge: number | undefined; acceptUntimed: boolean; clock(): number },
): void {
  if (maxAge === undefined) return
  const newest = events.reduce((time, { when }) => Math.max(time, when?.getTime() ?? time), -Infinity)
  if (acceptUntimed && newest === -Infinity) return
  if (!(Math.abs(clock() - newest) <= maxAge)) throw new WebhookError('delivery_stale')
}

/**
 * Matches a valid token. Handshakes and deliveries use the same key, and anyone can choose the token that we sign. If a
 * token could also be a valid body, an attacker could use its signature to forge a delivery. So tokens exclude
 * characters that every payload needs. A receiver without handshakes also rejects bodies that look like a token,
 * because another receiver with the same key may answer handshakes.
 */
const TOKEN = /^[\w.~+/:-]{1,512}={0,2}$/

/** Returns true for a body that is also a valid token: a handshake could have produced its signature. */
const looksLikeToken = (body: Uint8Array): boolean =>
  body.length <= 514 && body[0] !== 0x7b /* { */ && TOKEN.test(toBinary(body))

/**
 * Answers `GET <hookUrl>?crc_token=T` with the signature of T (docs/senders.md, "Handshake"). The key is the newest one, or
 * that of a file whose id is the last segment of the path: so two payload URLs can have two keys (docs/rotation.md). If the
 * tenant has no key, the signature is made with a decoy key, so that responses do not reveal which tenants exist. The
 * observer gets the error `key_unknown`, which senders cannot see.
 *
 * @throws {WebhookError} `handshake_invalid`, `key_unavailable`
 */
async function answerHandshake(
  seen: Seen,
  { findKeys }: Config,
  { parameter, member }: NonNullable<Config['profile']['handshake']>,
): Promise<Outcome> {
  const { url } = seen.request
  const token = readToken(url, parameter)
  if (!TOKEN.test(token)) throw new WebhookError('handshake_invalid')
  const { keyring: found, count, tenant, keyError, secret, renew } = await findKeys(seen)
  // A service sends a handshake as soon as its webhook gets a new key.
  const keyring = (await renew?.()) ?? found
  // Create the decoy even if there is a key, so that the response takes the same time in both cases.
  const decoy = importKey(secret + (tenant ?? guessTenant(seen.request)))
  const error = stacklessError('key_unknown', keyError)
  const named = keyring.find(({ id }) => id && pathOf(url)?.endsWith(`/${id}`))
  const hmac = ((count > 0 && (named ?? keyring[0])) || decoy).start()
  const signature = encodeSignature(await hmac.digest(utf8(token)), 'base64', 'sha256=')
  return handshakeOutcome({ [member]: signature }, count > 0 ? undefined : error)
}

/**
 * Identifies a tenant whose name the key function did not return: by the route parameters or, without any, by the path.
 * Each tenant has its own decoy key, which stays the same while the process runs, as a real key would.
 */
function guessTenant({ url, params }: RequestHead): string | undefined {
  const named = JSON.stringify(params ?? {})
  return named === '{}' ? pathOf(url) : named
}

const pathOf = (url: string): string | undefined => /^(\w+:\/\/[^/]*)?([^?#]*)/.exec(url)?.[2]

/**
 * Returns the value of the parameter. If the parameter is missing or occurs more than once, the result is not a valid
 * token. `+` is a base64 character, so it is kept; URLSearchParams alone would decode it to a space.
 */
function readToken(url: string, parameter: string): string {
  if (url.length > 8_000) return '' // RFC 9110 section 4.1 recommends supporting at least 8000
  const query = /\?([^#]*)/.exec(url)?.[1]?.replaceAll('+', '%2B')
  return new URLSearchParams(query).getAll(parameter).join()
}

/** Returns true for the statuses that make a delivery a failure (RFC 9110 section 15.6). */
export const isServerError = (status: number): boolean => status >= 500

/**
 * Passes a delivery to the framework's next handler, and returns the outcome with the status of that handler's response.
 *
 * @throws {WebhookError} `handler_failed` with the status of the response, if there was one
 */
async function runNext(
  next: (delivery: Delivery) => Promise<NextResult>,
  delivery: Delivery,
): Promise<Outcome> {
  const { status, thrown } = await guard('handler_failed', () => next(delivery))
  if (thrown === undefined && !isServerError(status ?? 200)) return respondedOutcome(status ?? 200)
  const cause = thrown ?? new Error(`the next handler responded with status ${status}`)
  const error = new WebhookError('handler_failed', { cause })
  throw status === undefined ? error : Object.assign(error, { status })
}
