import { configInvalid, WebhookError } from '../errors.ts'
import { parse } from '../payload/parse.ts'
import { malformed } from '../payload/utf8.ts'
import { readBody, requireReadable } from './body.ts'
import {
  CAUGHT_UP,
  type Delivery,
  requireStored,
  requireStoredList,
  type StoredDelivery,
} from './delivery.ts'
import { createDispatcher, type Handler } from './dispatch.ts'
import { handleOnce } from './duplicates.ts'
import { guard } from './guard.ts'
import { answerHandshake, looksLikeToken } from './handshake.ts'
import { readHeader, redactSecrets } from './headers.ts'
import { createByteBudget } from './in-flight.ts'
import { requireFresh } from './max-age.ts'
import { runNext } from './next-handler.ts'
import type { Seen } from './observer.ts'
import type { Config, Inbox } from './options.ts'
import {
  copyOutcome,
  errorOutcome,
  handshakeOutcome,
  type Outcome,
  succeeded,
  toWebhookError,
} from './outcome.ts'
import { validate } from './payload-schema.ts'
import type { Receiver } from './receiver-types.ts'
import type { ReceiverRequest, RequestHead } from './request.ts'
import { startSecretVerification } from './secret-verification.ts'
import { stacklessError } from './stackless-error.ts'
import { startSignatureVerification, type Verification } from './verification.ts'
import { toReceiverRequest, toResponse } from './web.ts'

/** Creates a receiver from checked options. */
export function receiverOf<Payload>(config: Config): Receiver<Payload> {
  const { clock, duplicates, inbox, limit, notifier, schema } = config
  const { handshake } = config.profile
  const allow = handshake ? 'GET, POST' : 'POST'
  const handlers = createDispatcher()
  const startVerification =
    config.secretHeader === undefined ? startSignatureVerification : startSecretVerification
  const countBytes = createByteBudget(config)
  const outcomes = { handled: 0, unhandled: 0, stored: 0, duplicate: 0, handshake: 0, refused: 0, failed: 0 }
  let inFlight = 0
  /** Set by `close()`. Resolves when the requests in flight at that time have a response. */
  let closed: Promise<void> | undefined
  let onIdle = (): void => {}

  /** Processes a request until its body has arrived, then calls `accept`. No request makes the promise reject. */
  async function run(request: ReceiverRequest, head: RequestHead): Promise<Outcome> {
    const startedAt = clock()
    const seen: Seen = { request: head }
    try {
      if (closed) throw new WebhookError('receiver_closed')
      if (handshake && head.method === 'GET') {
        const outcome = await answerHandshake(seen, config, handshake)
        await request.cancel?.(limit)
        return report(outcome, seen, startedAt)
      }
      if (head.method !== 'POST') throw stacklessError('method_not_allowed')
      requireReadable(head, config)
      const counter = countBytes()
      try {
        const verification = await startVerification(seen, config, request.headers)
        const reading = Promise.resolve(readBody(request, config, counter, verification.update))
        const { started } = verification
        const arriving = started ? Promise.all([reading, started]).then(([body]) => body) : reading
        return await arriving.then((body) =>
          accept(request, verification, { request: head, body, tenant: seen.tenant }, startedAt),
        )
      } finally {
        counter.release()
      }
    } catch (thrown) {
      await request.cancel?.(limit)
      return report(errorOutcome(toWebhookError(thrown), allow, false), seen, startedAt)
    }
  }

  /**
   * Verifies the body, then parses and handles it. This is a function of its own, because V8 would keep a large body in
   * memory longer if `run` had a variable for it (docs/architecture.md, "Speed").
   */
  async function accept(
    request: ReceiverRequest,
    verification: Verification,
    seen: Seen & { body: Uint8Array },
    startedAt: number,
  ): Promise<Outcome> {
    const { request: head, body } = seen
    try {
      const proof = await verification.end(body)
      if (!proof) return report(handshakeOutcome({ status: 'registered' }), seen, startedAt)
      if (looksLikeToken(body)) throw malformed('the body could be a handshake token')
      const delivery = await toDelivery({
        rawBody: body,
        contentType: readHeader(head.headers, 'content-type') ?? '',
        headers: head.headers,
        receivedAt: new Date(clock()),
        profile: config.profile.name,
        ...proof,
      })
      requireFresh(delivery, config)
      seen.delivery = delivery
      notifier.notify('accepted', { delivery, request: head })
      const take = () => (inbox ? store(inbox, delivery) : handle(delivery, request))
      return report(await (duplicates ? handleOnce(duplicates, delivery.id, take) : take()), seen, startedAt)
    } catch (thrown) {
      const isDelivery = seen.delivery !== undefined
      return report(errorOutcome(toWebhookError(thrown), allow, isDelivery), seen, startedAt)
    }
  }

  /** Counts the outcome, and notifies the observer exactly once per request. */
  function report(outcome: Outcome, seen: Seen, startedAt: number): Outcome {
    const { kind, error } = outcome
    outcomes[kind]++
    notifier.notify(kind === 'stored' ? 'handled' : kind, {
      outcome: copyOutcome(outcome),
      error,
      milliseconds: clock() - startedAt,
      ...seen,
    })
    return outcome
  }

  async function toDelivery(stored: StoredDelivery): Promise<Delivery> {
    const parsed = parse(stored.rawBody, stored.contentType, config.signatureHeader)
    // The parsed members come last, because an inbox may pass a delivery that already has such members to handle().
    // Object spread would be slower (docs/architecture.md, "Speed").
    const delivery: Delivery = Object.assign({}, stored, parsed)
    // The schema does not apply to a delivery that no service sent.
    if (stored.profile === CAUGHT_UP) for (const event of delivery.events) event.kind = CAUGHT_UP
    else if (schema) delivery.payload = await validate(schema, delivery.payload)
    return delivery
  }

  /** Runs the handlers. Without handlers, runs the framework's next handler. */
  async function handle(delivery: Delivery, { next }: ReceiverRequest): Promise<Outcome> {
    if (handlers.size === 0 && next) return runNext(next, delivery)
    try {
      return succeeded(await handlers.dispatch(delivery))
    } catch (cause) {
      throw new WebhookError('handler_failed', { cause })
    }
  }

  /** Without this check, stored deliveries would count as done although no handler will ever run. */
  function requireHandlers(): void {
    if (handlers.size === 0) throw configInvalid('handle() needs a handler: call receiver.on() first')
  }

  const receiver: Receiver<Payload> = {
    on(changeTypes, handler) {
      handlers.add(changeTypes, handler as Handler)
      return receiver
    },
    handles: handlers.handles,
    async receive(request, respond) {
      const isAwaited = !closed // close() does not wait for requests that arrive after it
      if (isAwaited) inFlight++
      try {
        const { method, url, params, remoteAddress } = request
        const headers = redactSecrets(request.headers, config.redacted)
        const head = { method, url, headers, params, remoteAddress }
        const outcome = await notifier.around(head, () => run(request, head))
        if (closed) outcome.close = true
        await respond?.(outcome)
        return outcome
      } finally {
        if (isAwaited) inFlight--
        if (inFlight === 0) onIdle()
      }
    },
    fetch: async (request, context) =>
      toResponse(await receiver.receive(await toReceiverRequest(request, context))),
    async handle(stored, context) {
      requireStored(stored)
      requireHandlers()
      return handlers.dispatch(await toDelivery(stored), context)
    },
    async handleTogether(stored, context) {
      requireStoredList(stored)
      requireHandlers()
      return handlers.dispatchTogether(await Promise.all(stored.map(toDelivery)), context)
    },
    stats: () => ({ outcomes: { ...outcomes }, inFlight, closed: !!closed }),
    async close() {
      closed ??= new Promise((resolve) => {
        onIdle = resolve
        if (inFlight === 0) resolve()
      })
      await closed
      // Callers of fetch() write the Response only after its promise has resolved, so wait one more event loop tick.
      await new Promise((resolve) => setTimeout(resolve))
    },
  }
  return receiver
}

async function store(inbox: Inbox, delivery: Delivery): Promise<Outcome> {
  const result = await guard('inbox_unavailable', () => inbox.put(delivery))
  return succeeded(result === 'duplicate' ? result : 'stored')
}
