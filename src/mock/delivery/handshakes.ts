import { randomBytes } from 'node:crypto'
import { isObject, tryJson } from '../../shared/json.ts'
import { arcgis, type Profile } from '../../signature/profiles.ts'
import { sign } from '../../signature/signature.ts'
import type { Clock } from '../clock.ts'
import { describeWebhook, type Notice } from '../event-listeners.ts'
import type { Answer, HandshakeRecord } from '../state/records.ts'
import type { State } from '../state/snapshot.ts'
import type { Webhook } from '../state/webhooks.ts'
import { messageOf } from './attempt.ts'
import { MAX_ANSWER } from './http-client.ts'
import { CLOSED, type Retries } from './retries.ts'

/** Seconds that a receiver has to answer a handshake (docs/senders.md, "Handshake"). */
const SECONDS = 5
/** Maximum length of a reason. Only the message of a connection error can be longer. */
const MAX_REASON = 256

const { parameter, member } = arcgis.handshake as NonNullable<Profile['handshake']>

/**
 * Sends a handshake to a receiver: a GET request with a random token, which the receiver must sign with the key of the
 * webhook (docs/senders.md, "Handshake"). Never rejects.
 *
 * @returns why it failed, in words that contain no key; undefined if it succeeded
 */
async function makeHandshake(
  { hookUrl, signatureKey }: Readonly<Webhook>,
  retries: Retries,
): Promise<string | undefined> {
  const token = randomBytes(24).toString('base64url')
  const url = new URL(hookUrl)
  url.search += `${url.search ? '&' : '?'}${parameter}=${token}`
  const headers = { host: url.host, accept: 'application/json' }
  try {
    const answer = await retries.send(url, { method: 'GET', headers, body: new Uint8Array() }, SECONDS)
    const signature = await sign({ body: token, signatureKey, encoding: 'base64', prefix: 'sha256=' })
    return findMistake(answer, signature)
  } catch (error) {
    return messageOf(error).slice(0, MAX_REASON)
  }
}

/** @returns undefined if the response contains the signature */
function findMistake({ status, body }: Answer, signature: string): string | undefined {
  if (status >= 300 && status < 400) return `status ${status}: redirects are not followed`
  if (status !== 200) return `status ${status}`
  if (Buffer.byteLength(body) >= MAX_ANSWER) return 'the answer has 64 KiB or more'
  const answer = tryJson(body)
  if (!isObject(answer)) return 'the answer is not a JSON object'
  if (!Object.hasOwn(answer, member)) return `the answer has no ${member}`
  if (typeof answer[member] !== 'string') return `${member} is not a string`
  if (answer[member] === signature) return undefined
  return answer[member].startsWith('sha256=')
    ? 'the signature is wrong'
    : `${member} does not begin with sha256=`
}

/** True for a webhook with a key. A portal announces its webhooks with a registration instead. */
export const needsHandshake = (webhook: Readonly<Webhook> | undefined): webhook is Readonly<Webhook> =>
  webhook !== undefined && webhook.signatureKey !== '' && webhook.serviceType !== 'Portal'

/** Listeners of the handshakes. */
interface HandshakeListeners {
  /** Called with the promise of each handshake, which never rejects. */
  began(handshake: Promise<void>): void
  /** Called when a handshake has ended, and when events were not sent. */
  notify(notice: Notice): void
}

/**
 * Current handshake of a webhook: `due` if the next delivery waits for a first one, `unsigned` if it has no key,
 * `portal` if it belongs to a portal.
 */
type HandshakeState = 'unsigned' | 'portal' | 'due' | 'in flight' | Readonly<HandshakeRecord>

/** The latest handshake of a webhook, and the wait for the next one. */
interface Handshake {
  webhook: Readonly<Webhook>
  inFlight: Promise<void> | undefined
  /** Aborted when another handshake replaces this one, or when the webhook is deleted. */
  readonly replaced: AbortController
}

/** The handshakes of all webhooks (docs/mock.md, "Handshake"). Those without a key and those of a portal have none. */
export class Handshakes {
  readonly #state: State
  readonly #clock: Clock
  readonly #every: number
  readonly #retries: Retries
  readonly #listeners: HandshakeListeners
  readonly #current = new Map<string, Handshake>()
  /** Number of calls of `clear`. */
  #round = 0
  #isStopped = false
  #isClosed = false

  /** @param every milliseconds from the end of a handshake to the next one of the same webhook */
  constructor(state: State, clock: Clock, every: number, retries: Retries, listeners: HandshakeListeners) {
    this.#state = state
    this.#clock = clock
    this.#every = every
    this.#retries = retries
    this.#listeners = listeners
  }

  /**
   * Waits for the first handshake of a webhook, and starts it if necessary.
   *
   * @param events number of events, which are counted as not sent if the handshake failed
   * @returns false if the events must not be sent
   */
  async allows(webhookId: string, events: number): Promise<boolean> {
    const begunIn = this.#round
    for (;;) {
      const webhook = this.#state.webhooks.get(webhookId)
      const record = this.#lastOf(webhookId)
      const inFlight = this.#current.get(webhookId)?.inFlight
      if (!needsHandshake(webhook) || this.#isClosed || (record && record.reason === undefined)) return true
      if (record && !inFlight) break
      await (inFlight ?? this.#start(webhook))
      if (this.#round !== begunIn) return false
    }
    this.countNotSent(webhookId, events)
    return false
  }

  hasFailed(webhookId: string): boolean {
    return this.#lastOf(webhookId)?.reason !== undefined
  }

  /** Counts events that were not sent, if the handshake of the webhook failed. */
  countNotSent(webhookId: string, events: number): void {
    const record = this.#lastOf(webhookId)
    const webhook = this.#state.webhooks.get(webhookId)
    if (record?.reason === undefined || !webhook) return
    this.#state.handshakes.set(webhookId, { ...record, notSent: (record.notSent ?? 0) + events })
    this.#listeners.notify({ type: 'not_sent', ...describeWebhook(webhook), events, reason: record.reason })
  }

  stateOf(webhookId: string): HandshakeState {
    const webhook = this.#state.webhooks.get(webhookId)
    if (webhook?.serviceType === 'Portal') return 'portal'
    if (!needsHandshake(webhook)) return 'unsigned'
    return this.#lastOf(webhookId) ?? (this.#current.get(webhookId)?.inFlight ? 'in flight' : 'due')
  }

  /** Makes a new handshake. Deliveries wait for it. */
  repeat(webhookId: string): void {
    const webhook = this.#state.webhooks.get(webhookId)
    if (!needsHandshake(webhook) || this.#isStopped) return
    this.#state.handshakes.delete(webhookId)
    this.#start(webhook)
  }

  /** Called when a webhook was created, edited or deleted; without an id, when all were replaced. */
  changed(webhookId?: string): void {
    if (webhookId === undefined) {
      this.#restored()
      return
    }
    const webhook = this.#state.webhooks.get(webhookId)
    const known = this.#current.get(webhookId)
    if (!needsHandshake(webhook)) {
      this.#forget(webhookId)
      this.#state.handshakes.delete(webhookId)
    } else if (!known || isNeeded(known.webhook, webhook, this.hasFailed(webhookId))) this.repeat(webhookId)
    else known.webhook = webhook
  }

  /** Drops all deliveries that wait, and ignores handshakes in flight. */
  clear(): void {
    this.#round += 1
    for (const id of [...this.#current.keys()]) this.#forget(id)
  }

  /** Makes no handshakes from now on, except those that deliveries need. */
  stop(): void {
    this.#isStopped = true
    for (const { inFlight, replaced } of this.#current.values()) if (!inFlight) replaced.abort()
  }

  #lastOf(webhookId: string): Readonly<HandshakeRecord> | undefined {
    return this.#state.handshakes.get(webhookId)
  }

  #replace(webhook: Readonly<Webhook>): Handshake {
    this.#forget(webhook.id)
    const handshake = { webhook, inFlight: undefined, replaced: new AbortController() }
    this.#current.set(webhook.id, handshake)
    return handshake
  }

  #forget(webhookId: string): void {
    this.#current.get(webhookId)?.replaced.abort()
    this.#current.delete(webhookId)
  }

  #start(webhook: Readonly<Webhook>): Promise<void> {
    const handshake = this.#replace(webhook)
    const inFlight = this.#run(handshake)
    handshake.inFlight = inFlight
    this.#listeners.began(inFlight)
    return inFlight
  }

  async #run(handshake: Handshake): Promise<void> {
    const reason = await makeHandshake(handshake.webhook, this.#retries)
    handshake.inFlight = undefined
    if (handshake.replaced.signal.aborted) return
    if (reason === CLOSED) {
      this.#isClosed = true
      return
    }
    const { id: webhookId } = handshake.webhook
    const notSent = reason === undefined ? undefined : this.#lastOf(webhookId)?.notSent
    this.#state.handshakes.set(webhookId, {
      webhookId,
      when: this.#clock.now(),
      ...(reason && { reason }),
      ...(notSent && { notSent }),
    })
    const ok = reason === undefined
    this.#listeners.notify({ type: 'handshake', ...describeWebhook(handshake.webhook), ok, reason })
    this.#repeatAfter(handshake, this.#every)
  }

  /** An inactive webhook has no further handshake until it is activated. */
  async #repeatAfter({ webhook, replaced }: Handshake, milliseconds: number): Promise<void> {
    if (this.#isStopped) return
    try {
      await this.#clock.wait(milliseconds, replaced.signal)
    } catch {
      return // replaced or stopped
    }
    const latest = this.#state.webhooks.get(webhook.id)
    if (latest?.active) this.#start(latest)
  }

  /** Continues with the handshakes of a snapshot. One that is overdue is made before the next delivery. */
  #restored(): void {
    for (const id of [...this.#current.keys()]) this.#forget(id)
    for (const { webhookId, when, reason } of [...this.#state.handshakes.values()]) {
      const webhook = this.#state.webhooks.get(webhookId)
      const remaining = Math.min(when + this.#every - this.#clock.now(), this.#every)
      if (!needsHandshake(webhook) || (remaining <= 0 && reason === undefined))
        this.#state.handshakes.delete(webhookId)
      else this.#repeatAfter(this.#replace(webhook), Math.max(remaining, 0))
    }
  }
}

/** True if an edit needs a new handshake: of the URL or the key, an activation, or any edit after a failure. */
const isNeeded = (before: Readonly<Webhook>, after: Readonly<Webhook>, hasFailed: boolean): boolean =>
  before.hookUrl !== after.hookUrl ||
  before.signatureKey !== after.signatureKey ||
  (after.active && (!before.active || hasFailed))
