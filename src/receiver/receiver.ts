import { refusal } from '#refusal'
import { configInvalid, WebhookError } from '../errors.ts'
import { parse } from '../payload/parse.ts'
import { malformed } from '../payload/utf8.ts'
import { when } from '../signature/awaitable.ts'
import type { Receiver } from './api.ts'
import { readBody, requireReadable } from './body.ts'
import type { Delivery, StoredDelivery } from './delivery.ts'
import { createDispatcher, type Handler } from './dispatch.ts'
import { guard } from './guard.ts'
import { answerHandshake, looksLikeToken } from './handshake.ts'
import { readHeader } from './headers.ts'
import { createInFlight } from './in-flight.ts'
import { type Inbox, type ReceiverOptions, readOptions } from './options.ts'
import { done, failed, type Outcome, toWebhookError } from './outcome.ts'
import { once, requireFresh } from './replay.ts'
import type { ReceiverRequest, RequestHead } from './request.ts'
import { validate } from './schema.ts'
import { startVerification, type Verification } from './verification.ts'
import { toReceiverRequest, toResponse } from './web.ts'

/**
 * Makes a receiver. Mount it with `geohook/express`, `geohook/node`, or as `receiver.fetch`.
 *
 * @throws {WebhookError} `config_invalid` for an option that cannot be right
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
  const config = readOptions((options ?? {}) as ReceiverOptions)
  const { clock, duplicates, inbox, limit, schema, tell } = config
  const { handshake, name } = config.profile
  const allow = handshake ? 'GET, POST' : 'POST'
  const handlers = createDispatcher()
  const openShare = createInFlight(config)
  const outcomes = { handled: 0, stored: 0, duplicate: 0, handshake: 0, refused: 0, failed: 0 }
  let atWork = 0
  let rest = (): void => {}
  /** Resolves when all is answered that was at work. */
  let closed: Promise<void> | undefined

  /** One request from its beginning to its end. */
  async function run(request: ReceiverRequest, head: RequestHead): Promise<Outcome> {
    await undefined // most bodies come with the head: right behind it, they need not be waited for
    const started = clock()
    const share = openShare()
    const seen = { request: head }
    try {
      if (closed) throw new WebhookError('receiver_closed')
      if (handshake && head.method === 'GET')
        return end(await answerHandshake(head, config, handshake), started, seen, request)
      if (head.method !== 'POST') throw refusal('method_not_allowed')
      requireReadable(head, config)
      return await when(startVerification(head, config), (verification) =>
        when(readBody(request, config, share, verification.update), (body) =>
          accept(request, verification, started, { request: head, body }),
        ),
      )
    } catch (thrown) {
      return fail(thrown, started, seen, request)
    } finally {
      share.release()
    }
  }

  /**
   * Verifies, and only then decodes and hands over. A function of its own: what has waited for a large body is old to V8,
   * and would keep what it refers to for longer.
   */
  async function accept(
    request: ReceiverRequest,
    verification: Verification,
    started: number,
    seen: Seen & { body: Uint8Array },
  ): Promise<Outcome> {
    const { request: head, body } = seen
    try {
      const proving = verification.end(body)
      const proof = proving instanceof Promise ? await proving : proving
      if (looksLikeToken(body)) throw malformed('the body could be a handshake token')
      const delivery = decode({
        id: proof.id,
        rawBody: body,
        contentType: readHeader(head.headers, 'content-type') ?? '',
        headers: head.headers,
        receivedAt: new Date(clock()),
        profile: name,
      })
      if (proof.keyIndex !== undefined) delivery.keyIndex = proof.keyIndex
      if (schema) delivery.payload = await validate(schema, delivery.payload)
      requireFresh(delivery, config)
      seen.delivery = delivery
      tell('accepted', () => ({ delivery, request: head }))
      const take = () => (inbox ? store(inbox, delivery) : handle(delivery, request))
      return end(await (duplicates ? once(duplicates, delivery.id, take) : take()), started, seen)
    } catch (thrown) {
      return fail(thrown, started, seen)
    }
  }

  /** Makes a delivery of the object itself. */
  const decode = (stored: StoredDelivery): Delivery =>
    Object.assign(stored, parse(stored.rawBody, stored.contentType, config.signatureHeader))

  async function handle(delivery: Delivery, request: ReceiverRequest): Promise<Outcome> {
    try {
      const status = await (handlers.size > 0 || !request.next
        ? handlers.dispatch(delivery)
        : request.next(delivery))
      // No status is no error.
      if ((status as number) >= 400) throw new Error(`next() answered ${status}`)
    } catch (cause) {
      throw new WebhookError('handler_failed', { cause })
    }
    return done('handled')
  }

  const fail = (thrown: unknown, started: number, seen: Seen, unread?: ReceiverRequest): Outcome =>
    end(failed(toWebhookError(thrown), allow, 'delivery' in seen), started, seen, unread)

  /** Of each end the observer is told once. */
  function end(outcome: Outcome, started: number, seen: Seen, unread?: ReceiverRequest): Outcome {
    const { kind, error } = outcome
    unread?.cancel?.(limit)
    outcomes[kind]++
    tell(kind === 'stored' ? 'handled' : kind, () => ({
      outcome: { ...outcome, headers: { ...outcome.headers } }, // the answer is not theirs to change
      error,
      milliseconds: clock() - started,
      ...seen, // behind the others: before them, each of them would take V8 a microsecond
    }))
    return outcome
  }

  const receiver: Receiver<Payload> = {
    on(changeTypes, handler) {
      handlers.add(changeTypes, handler as Handler)
      return receiver
    },
    async receive(request, answer) {
      const one = closed ? 0 : 1 // what comes once it is closed is not waited for
      atWork += one
      try {
        const { method, url, headers, params } = request
        const head = { method, url, headers, params }
        let begun: Promise<Outcome> | undefined
        // Whatever the observer does with it, the work begins once.
        const runOnce = () => (begun ??= run(request, head))
        tell('around', () => ({ request: head, run: runOnce }))
        const outcome = await runOnce()
        if (closed) outcome.close = true
        await answer?.(outcome)
        return outcome
      } finally {
        atWork -= one
        if (atWork === 0) rest()
      }
    },
    fetch: async (request, context) =>
      toResponse(await receiver.receive(await toReceiverRequest(request, context))),
    async handle(stored, context) {
      // Else deliveries would end as handled where nobody has handled them.
      if (handlers.size === 0) throw configInvalid('handle() needs handlers')
      const delivery = decode({ ...stored })
      if (schema) delivery.payload = await validate(schema, delivery.payload)
      await handlers.dispatch(delivery, context)
    },
    stats: () => ({ outcomes: { ...outcomes }, atWork, closed: !!closed }),
    async close() {
      closed ??= new Promise((resolve) => {
        rest = resolve
        if (atWork === 0) rest()
      })
      await closed
      // What has been answered with a Response is written by whoever called fetch, after that.
      await new Promise((written) => setTimeout(written))
    },
  }
  return receiver
}

async function store(inbox: Inbox, delivery: Delivery): Promise<Outcome> {
  const kept = await guard('inbox_unavailable', () => inbox.put(delivery))
  return done(kept === 'duplicate' ? kept : 'stored')
}

/** What there is of a request so far. */
interface Seen {
  request: RequestHead
  body?: Uint8Array
  delivery?: Delivery
}
