import { configInvalid, WebhookError } from '../errors.ts'
import { parse } from '../payload/parse.ts'
import { malformed } from '../payload/text.ts'
import type { Receiver } from './api.ts'
import { attempt } from './attempt.ts'
import { readBody, requireReadable } from './body.ts'
import type { Delivery, StoredDelivery } from './delivery.ts'
import { createDispatcher, type Handler } from './dispatch.ts'
import { answerHandshake, looksLikeToken } from './handshake.ts'
import { readHeader } from './headers.ts'
import { type ReceiverOptions, readOptions } from './options.ts'
import { done, failed, type Outcome, toWebhookError } from './outcome.ts'
import { once, requireFresh } from './replay.ts'
import type { ReceiverRequest, RequestHead } from './request.ts'
import { validate } from './schema.ts'
import { startVerification } from './verification.ts'
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
  const { clock, duplicates, inbox, tell } = config
  const { handshake } = config.profile
  const handlers = createDispatcher()
  const atWork = new Set<Promise<Outcome>>()
  const outcomes = { handled: 0, stored: 0, duplicate: 0, handshake: 0, refused: 0, failed: 0 }
  let closed = false

  /** One request from its beginning to its end, of which the observer is told once. */
  async function run(request: ReceiverRequest, head: RequestHead): Promise<Outcome> {
    await undefined // until it is known to be at work
    const started = clock()
    const seen: Seen = { request: head }
    let outcome: Outcome
    try {
      outcome = await work(request, seen)
    } catch (thrown) {
      outcome = failed(toWebhookError(thrown), handshake ? 'GET, POST' : 'POST', seen.delivery)
    }
    const { kind, error } = outcome
    outcomes[kind]++
    tell(kind === 'stored' ? 'handled' : kind, () => ({
      ...seen,
      error,
      outcome: { ...outcome, headers: { ...outcome.headers } }, // the answer is not theirs to change
      milliseconds: clock() - started,
    }))
    return outcome
  }

  async function work(request: ReceiverRequest, seen: Seen): Promise<Outcome> {
    if (closed) throw new WebhookError('receiver_closed')
    const head = seen.request
    if (handshake && head.method === 'GET') return answerHandshake(head, config, handshake)
    if (head.method !== 'POST') throw new WebhookError('method_not_allowed')
    requireReadable(head, config)
    const verification = await startVerification(head, config)
    const body = await readBody(request, config, verification.update)
    seen.body = body
    const proof = await verification.end(body)
    if (looksLikeToken(body)) throw malformed('the body could be a handshake token')
    const stored = Object.assign(proof, {
      rawBody: body,
      contentType: readHeader(head.headers, 'content-type') ?? '',
      headers: head.headers,
      receivedAt: new Date(clock()),
      profile: config.profile.name,
    })
    const delivery = await decode(stored)
    requireFresh(delivery, config)
    seen.delivery = delivery
    tell('accepted', () => ({ delivery, request: head }))
    const take = () => takeOn(delivery, request)
    return await (duplicates ? once(duplicates, delivery, take) : take())
  }

  async function decode(stored: StoredDelivery): Promise<Delivery> {
    const parsed = parse(stored.rawBody, stored.contentType, config.signatureHeader)
    // A spread of two objects takes thirty times as long.
    const delivery: Delivery = Object.assign({}, stored, parsed)
    if (config.schema) delivery.payload = await validate(config.schema, delivery.payload)
    return delivery
  }

  /** What becomes of a verified delivery: stored, or handled here, or passed on to the framework's next function. */
  async function takeOn(delivery: Delivery, request: ReceiverRequest): Promise<Outcome> {
    if (inbox) {
      const kept = await attempt('inbox_unavailable', () => inbox.put(delivery))
      return done(kept === 'duplicate' ? kept : 'stored', delivery)
    }
    await attempt('handler_failed', async () => {
      if (handlers.size > 0 || !request.next) return await handlers.dispatch(delivery)
      const status = await request.next(delivery)
      // No status is no error.
      if ((status as number) >= 400) throw new Error(`the next handler answered ${status}`)
    })
    return done('handled', delivery)
  }

  const receiver: Receiver<Payload> = {
    on(changeTypes, handler) {
      handlers.add(changeTypes, handler as Handler)
      return receiver
    },
    receive(request, answer) {
      const { method, url, headers, params } = request
      const head = { method, url, headers, params }
      let begun: Promise<Outcome> | undefined
      // Whatever the observer does with it, the work begins once.
      const runOnce = () => (begun ??= run(request, head))
      tell('around', () => ({ request: head, run: runOnce }))
      const running = runOnce().then(async (outcome) => {
        try {
          await answer?.(outcome)
        } finally {
          atWork.delete(running)
        }
        return outcome
      })
      atWork.add(running)
      return running
    },
    fetch: async (request, context) =>
      toResponse(await receiver.receive(await toReceiverRequest(request, context))),
    async handle(stored, context) {
      // Else deliveries would end as handled where nobody has handled them.
      if (handlers.size === 0) throw configInvalid('handle() needs handlers')
      await handlers.dispatch(await decode(stored), context)
    },
    stats: () => ({ outcomes: { ...outcomes }, atWork: atWork.size, closed }),
    async close() {
      closed = true
      await Promise.allSettled(atWork)
      // What has been answered with a Response is written by whoever called fetch, after that.
      await new Promise((written) => setTimeout(written))
    },
  }
  return receiver
}

/** What is there of a request so far. */
interface Seen {
  request: RequestHead
  body?: Uint8Array
  delivery?: Delivery
}
