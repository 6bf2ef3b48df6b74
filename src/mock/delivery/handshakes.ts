import { randomBytes } from 'node:crypto'
import { isObject, tryJson } from '../../shared/json.ts'
import { arcgis, type Profile } from '../../signature/profiles.ts'
import { sign } from '../../signature/signature.ts'
import type { Notice } from '../event-listeners.ts'
import type { ResolvedOptions } from '../options.ts'
import type { HandshakeRecord } from '../state/records.ts'
import { servicePath } from '../state/services.ts'
import type { State } from '../state/snapshot.ts'
import type { Webhook } from '../state/webhooks.ts'
import { messageOf } from './attempt.ts'
import { type Answer, MAX_ANSWER, type OutgoingRequest, type Target, toTarget } from './http-client.ts'
import { CLOSED } from './retries.ts'

/** Seconds that a receiver has to answer a handshake (docs/senders.md, "Handshake"). */
const SECONDS = 5
/** Maximum length of a reason. Only the message of a connection error can be longer. */
const MAX_REASON = 256

const { parameter, member } = arcgis.handshake as NonNullable<Profile['handshake']>

/** Sends a handshake request. Rejects without a response. */
type SendRequest = (target: Target, request: OutgoingRequest, seconds: number) => Promise<Answer>

/**
 * Sends a handshake to a receiver: a GET request with a random token, which the receiver must sign with the key of the
 * webhook (docs/senders.md, "Handshake"). Never rejects.
 *
 * @returns why it failed, in words that contain no key; undefined if it succeeded
 */
async function makeHandshake(
  { signatureKey }: Readonly<Webhook>,
  target: Target,
  send: SendRequest,
): Promise<string | undefined> {
  const token = randomBytes(24).toString('base64url')
  const path = `${target.path}${target.path.includes('?') ? '&' : '?'}${parameter}=${token}`
  const headers = { accept: 'application/json' }
  try {
    const body = new Uint8Array()
    const answer = await send({ ...target, path }, { method: 'GET', headers, body }, SECONDS)
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

/** The handshakes of all webhooks (docs/mock.md, "Handshake"). Those without a key and those of a portal have none. */
export interface Handshakes {
  /**
   * Waits for the first handshake of a webhook, and starts it if necessary.
   *
   * @param events number of events, which are counted as not sent if the handshake failed
   * @returns false if the events must not be sent
   */
  allows(webhookId: string, events: number): Promise<boolean>
  hasFailed(webhookId: string): boolean
  /** Counts events that were not sent, if the handshake of the webhook failed. */
  countNotSent(webhookId: string, events: number): void
  stateOf(webhookId: string): HandshakeState
  /** Makes a new handshake. Deliveries wait for it. */
  repeat(webhookId: string): void
  /** Called when a webhook was created, edited or deleted; without an id, when all were replaced. */
  changed(webhookId?: string): void
  /** Drops all deliveries that wait, and ignores handshakes in flight. */
  clear(): void
  /** Makes no handshakes from now on, except those that deliveries need. */
  stop(): void
}

/** The latest handshake of a webhook, and the wait for the next one. */
interface Handshake {
  webhook: Readonly<Webhook>
  inFlight: Promise<void> | undefined
  /** Aborted when another handshake replaces this one, or when the webhook is deleted. */
  readonly replaced: AbortController
}

/** Creates the handshakes of a service. Returns undefined if its options say that it makes none. */
export function createHandshakes(
  state: State,
  { clock, handshake, allowHosts }: ResolvedOptions,
  send: SendRequest,
  { began, notify }: HandshakeListeners,
): Handshakes | undefined {
  if (handshake === false) return undefined
  /** Milliseconds from the end of a handshake to the next one of the same webhook. */
  const every = handshake
  const { webhooks } = state
  const lastOf = (webhookId: string): Readonly<HandshakeRecord> | undefined => state.handshakes.get(webhookId)
  const current = new Map<string, Handshake>()
  let round = 0
  let isStopped = false
  let isClosed = false

  function replace(webhook: Readonly<Webhook>): Handshake {
    forget(webhook.id)
    const handshake = { webhook, inFlight: undefined, replaced: new AbortController() }
    current.set(webhook.id, handshake)
    return handshake
  }

  function forget(webhookId: string): void {
    current.get(webhookId)?.replaced.abort()
    current.delete(webhookId)
  }

  function start(webhook: Readonly<Webhook>): Promise<void> {
    const handshake = replace(webhook)
    const inFlight = run(handshake)
    handshake.inFlight = inFlight
    began(inFlight)
    return inFlight
  }

  async function run(handshake: Handshake): Promise<void> {
    const reason = await makeHandshake(
      handshake.webhook,
      toTarget(handshake.webhook.hookUrl, allowHosts),
      send,
    )
    handshake.inFlight = undefined
    if (handshake.replaced.signal.aborted) return
    if (reason === CLOSED) {
      isClosed = true
      return
    }
    const { id: webhookId } = handshake.webhook
    const notSent = reason === undefined ? undefined : lastOf(webhookId)?.notSent
    state.handshakes.set(webhookId, {
      webhookId,
      when: clock.now(),
      ...(reason && { reason }),
      ...(notSent && { notSent }),
    })
    notify({ type: 'handshake', ...describe(handshake.webhook), ok: reason === undefined, reason })
    repeatAfter(handshake, every)
  }

  /** An inactive webhook has no further handshake until it is activated. */
  async function repeatAfter({ webhook, replaced }: Handshake, milliseconds: number): Promise<void> {
    if (isStopped) return
    try {
      await clock.wait(milliseconds, replaced.signal)
    } catch {
      return // replaced or stopped
    }
    const latest = webhooks.get(webhook.id)
    if (latest?.active) start(latest)
  }

  /** Continues with the handshakes of a snapshot. One that is overdue is made before the next delivery. */
  function restored(): void {
    for (const id of [...current.keys()]) forget(id)
    for (const { webhookId, when, reason } of [...state.handshakes.values()]) {
      const webhook = webhooks.get(webhookId)
      const remaining = Math.min(when + every - clock.now(), every)
      if (!needsHandshake(webhook) || (remaining <= 0 && reason === undefined))
        state.handshakes.delete(webhookId)
      else repeatAfter(replace(webhook), Math.max(remaining, 0))
    }
  }

  function repeat(webhookId: string): void {
    const webhook = webhooks.get(webhookId)
    if (!needsHandshake(webhook) || isStopped) return
    state.handshakes.delete(webhookId)
    start(webhook)
  }

  function countNotSent(webhookId: string, events: number): void {
    const record = lastOf(webhookId)
    const webhook = webhooks.get(webhookId)
    if (record?.reason === undefined || !webhook) return
    state.handshakes.set(webhookId, { ...record, notSent: (record.notSent ?? 0) + events })
    notify({ type: 'not_sent', ...describe(webhook), events, reason: record.reason })
  }

  const handshakes: Handshakes = {
    async allows(webhookId, events) {
      const begunIn = round
      for (;;) {
        const webhook = webhooks.get(webhookId)
        const record = lastOf(webhookId)
        const inFlight = current.get(webhookId)?.inFlight
        if (!needsHandshake(webhook) || isClosed || (record && record.reason === undefined)) return true
        if (record && !inFlight) break
        await (inFlight ?? start(webhook))
        if (round !== begunIn) return false
      }
      countNotSent(webhookId, events)
      return false
    },
    hasFailed: (webhookId) => lastOf(webhookId)?.reason !== undefined,
    countNotSent,
    stateOf(webhookId) {
      const webhook = webhooks.get(webhookId)
      if (webhook?.serviceType === 'Portal') return 'portal'
      if (!needsHandshake(webhook)) return 'unsigned'
      return lastOf(webhookId) ?? (current.get(webhookId)?.inFlight ? 'in flight' : 'due')
    },
    repeat,
    changed(webhookId) {
      if (webhookId === undefined) return restored()
      const webhook = webhooks.get(webhookId)
      const known = current.get(webhookId)
      if (!needsHandshake(webhook)) {
        forget(webhookId)
        state.handshakes.delete(webhookId)
      } else if (!known || isNeeded(known.webhook, webhook, handshakes.hasFailed(webhookId)))
        repeat(webhookId)
      else known.webhook = webhook
    },
    clear() {
      round += 1
      for (const id of [...current.keys()]) forget(id)
    },
    stop() {
      isStopped = true
      for (const { inFlight, replaced } of current.values()) if (!inFlight) replaced.abort()
    },
  }
  return handshakes
}

/** True if an edit needs a new handshake: of the URL or the key, an activation, or any edit after a failure. */
const isNeeded = (before: Readonly<Webhook>, after: Readonly<Webhook>, hasFailed: boolean): boolean =>
  before.hookUrl !== after.hookUrl ||
  before.signatureKey !== after.signatureKey ||
  (after.active && (!before.active || hasFailed))

const describe = (webhook: Readonly<Webhook>): { webhookId: string; name: string; service: string } => ({
  webhookId: webhook.id,
  name: webhook.name,
  service: servicePath(webhook),
})
