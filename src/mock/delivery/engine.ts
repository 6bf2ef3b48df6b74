import { randomUUID } from 'node:crypto'
import { type RawRequest, writeBody } from '../../testing/signer.ts'
import { type Listeners, warn } from '../event-listeners.ts'
import { createFaults, type FaultStore } from '../faults/faults.ts'
import type { ResolvedOptions } from '../options.ts'
import { type ServiceEvent, selects } from '../state/events.ts'
import type { State } from '../state/snapshot.ts'
import { type ScheduleInfo, shownSchedule, type Webhook } from '../state/webhooks.ts'
import { has } from '../versions.ts'
import { type Attempt, AttemptLog, type DeliveryRecord } from './attempt.ts'
import { createHandshakes, type Handshakes } from './handshakes.ts'
import { toTarget } from './http-client.ts'
import { createPayloadWriter, createRequestWriter, type RequestWriter, toPortalPayload } from './payloads.ts'
import { createRetries, type DeliveryResult, type OutgoingDelivery } from './retries.ts'
import { createWindows, type OpenWindow } from './windows.ts'

const DAY = 86_400_000
/** Maximum number of failures kept per webhook: the upper bound of `numberOfFailures`. */
const MAX_FAILURES = 1000

/** Turns events into deliveries. */
export interface Engine {
  readonly log: AttemptLog
  readonly faults: FaultStore
  readonly windows: { list(): OpenWindow[] }
  /** Undefined if the service makes no handshakes. */
  readonly handshakes: Pick<Handshakes, 'hasFailed' | 'stateOf' | 'repeat'> | undefined
  /**
   * Delivers events to a webhook that is subscribed to them, immediately or when its window closes.
   *
   * @returns all attempts, once the last has ended
   */
  notify(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]>
  /** Sends a recorded attempt again, byte for byte, even if the webhook was changed or deactivated. */
  redeliver(attempt: Attempt): Promise<Attempt>
  /**
   * Sends a request once, as a delivery of its own: it is neither retried nor counted as a failure, and gets no fault.
   *
   * @param request without the headers `host` and `content-length`
   */
  sendOnce(record: DeliveryRecord, hookUrl: string, request: RawRequest): Promise<Attempt>
  /** Announces a webhook of a portal to its payload URL. Never rejects: a failure is recorded in the attempt. */
  register(webhook: Readonly<Webhook>): Promise<Attempt>
  /** Signs a body with the key of the webhook, as its deliveries are. */
  readonly sign: RequestWriter
  /** Returns the schedule by which a webhook gathers events; undefined if it does not gather them. */
  scheduleOf(webhookId: string): ScheduleInfo | undefined
  /**
   * Applies a change of a webhook to its open window and its handshakes; without an id, does so for all webhooks.
   */
  changed(webhookId?: string): void
  /** Drops gathered events, pending retries, the attempt log and all faults. */
  clear(): void
  /** Sends gathered events and waits for attempts in flight; nothing is retried. */
  close(): Promise<void>
}

/** The listeners of an engine, and the function that saves its changes. */
interface EngineReports {
  readonly listeners: Listeners
  readonly changes: Listeners<string | undefined>
  /** Resolves when every change so far is saved. */
  save(): Promise<void>
}

/** @throws {WebhookError} `config_invalid` */
export function createEngine(
  state: State,
  options: ResolvedOptions & { ownUrl(): string | undefined },
  { listeners, changes, save }: EngineReports,
): Engine {
  const { clock, version, dialect, allowHosts } = options
  /** Called when the faults, the open windows or a handshake have changed. */
  const changed = (): void => changes.emit(undefined)
  const log = new AttemptLog()
  const faults = createFaults(changed)
  const writePayloads = createPayloadWriter(options)
  const writeRequest = createRequestWriter(options)
  /** Deliveries and open windows that `close` waits for. */
  const pending = new Set<Promise<unknown>>()
  const retries = createRetries(options, {
    settings: () =>
      has(version, 'failures') ? state.settings : { ...state.settings, notificationAttempts: 1 },
    isActive: (id) => state.webhooks.get(id)?.active === true && !handshakes?.hasFailed(id),
    began(attempt, { id, record }) {
      log.add(attempt, record)
      changes.emit(id)
    },
    finished(attempt) {
      listeners.emit({ type: 'attempt', attempt })
      changes.emit(attempt.deliveryId)
    },
    ended: countResult,
  })
  const handshakes = createHandshakes(state, options, retries.send, {
    began(handshake) {
      clock.during?.(track(handshake))
      changed()
    },
    notify(notice) {
      listeners.emit(notice)
      saveCount()
    },
  })
  const windows = createWindows(clock, scheduleOf, flush)

  function scheduleOf(webhookId: string): ScheduleInfo | undefined {
    const webhook = state.webhooks.get(webhookId)
    if (!webhook || options.window.webhooks === 'none') return undefined
    const schedule = shownSchedule(webhook, options.window)
    return 'recurrenceInfo' in schedule ? (schedule as ScheduleInfo) : undefined
  }

  /** The events to send to a webhook now, with its current URL, key and change types. */
  function select(webhookId: string, events: readonly ServiceEvent[]) {
    const webhook = state.webhooks.get(webhookId)
    if (!webhook || scheduleOf(webhookId)?.state === 'disabled') return undefined
    const selected = events.filter((event) => selects(webhook, event))
    return selected.length === 0 ? undefined : { webhook, selected }
  }

  /** Sends the events of a closed window, or of a service that makes handshakes. */
  async function flush(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    changed()
    const due = select(webhookId, events)
    if (!due) return []
    if (!handshakes) return deliver(due.webhook, due.selected)
    if (!(await handshakes.allows(webhookId, due.selected.length))) return []
    const allowed = select(webhookId, events)
    const attempts = allowed ? await deliver(allowed.webhook, allowed.selected) : []
    if (allowed && attempts.length === 0) handshakes.countNotSent(webhookId, allowed.selected.length)
    return attempts
  }

  const deliver = (webhook: Readonly<Webhook>, events: readonly ServiceEvent[]): Promise<Attempt[]> =>
    collect(writePayloads(webhook, events).map((body) => deliverBody(webhook, body)))

  function deliverBody(webhook: Readonly<Webhook>, body: Uint8Array<ArrayBuffer>): Promise<Attempt[]> {
    const { id: webhookId, hookUrl } = webhook
    const fault = faults.take(webhookId)
    const record = { webhook, payload: body, contentType: webhook.contentType }
    const delivery = { id: randomUUID(), webhookId, target: toTarget(hookUrl, allowHosts), fault, record }
    return retries.deliver(delivery, writeRequest(webhook, body, fault?.fault))
  }

  function countResult(webhookId: string, result: DeliveryResult): void {
    const webhook = state.webhooks.get(webhookId)
    const isPortal = webhook?.serviceType === 'Portal'
    // In the `hosted` dialect, a success resets the webhook's failure count (docs/senders.md, "Delivery").
    if (result === 'succeeded' && dialect === 'hosted' && !isPortal && state.failures.delete(webhookId))
      saveCount()
    if (result === 'failed' && webhook && (isPortal || has(version, 'failures'))) {
      const { numberOfFailures, daysInPast } = { ...state.settings, ...webhook.config?.deactivationPolicy }
      const times = [...(state.failures.get(webhookId) ?? []), clock.now()].slice(-MAX_FAILURES)
      state.failures.set(webhookId, times)
      const start = clock.now() - daysInPast * DAY
      if (times.filter((time) => time > start).length >= numberOfFailures) state.webhooks.switchOff(webhookId)
      saveCount()
    }
  }

  /** Saves the failure count of a webhook, which may have been deactivated, or its handshake. */
  function saveCount(): void {
    save().catch(warn)
    changed()
  }

  /** Makes one attempt of a delivery without a fault. */
  function resend(
    delivery: Omit<OutgoingDelivery, 'target' | 'fault'>,
    hookUrl: string,
    number: () => number,
  ): Promise<Attempt> {
    const target = toTarget(hookUrl, allowHosts)
    return track(retries.resend({ ...delivery, target, fault: undefined }, number))
  }

  const sendOnce: Engine['sendOnce'] = (record, hookUrl, request) =>
    resend({ id: randomUUID(), webhookId: record.webhook.id, request, record }, hookUrl, () => 1)

  function track<T>(promise: Promise<T>): Promise<T> {
    const remove = (): void => void pending.delete(promise)
    pending.add(promise)
    promise.then(remove, remove)
    return promise
  }

  return {
    log,
    faults,
    windows,
    handshakes,
    sign: writeRequest,
    scheduleOf,
    async notify(webhookId, events) {
      const webhook = state.webhooks.get(webhookId)
      const schedule = scheduleOf(webhookId)
      if (!webhook || schedule?.state === 'disabled') return []
      if (!schedule) return track(handshakes ? flush(webhookId, events) : deliver(webhook, events))
      const attempts = windows.add(webhookId, events)
      changed()
      return track(attempts)
    },
    redeliver({ deliveryId: id, webhookId, hookUrl, request, number }) {
      const { host: _host, 'content-length': _length, ...headers } = request.headers
      const delivery = { id, webhookId, request: { ...request, headers }, record: log.records.get(id) }
      const isSame = ({ deliveryId }: Attempt): boolean => deliveryId === id
      return resend(delivery, hookUrl, () => {
        const numbers = log
          .list()
          .filter(isSame)
          .map((attempt) => attempt.number)
        return Math.max(number, ...numbers) + 1
      })
    },
    sendOnce,
    // Of the body, only the member `WebhookRegistry` is known; it contains the `info` of deliveries
    // (docs/decisions.md, "Mock service").
    async register(webhook) {
      const { contentType, hookUrl } = webhook
      const when = clock.now()
      const event = { changeType: 'register', subscriptions: [], when, layerIds: [0], generation: 0 }
      const { info } = toPortalPayload(webhook, [event]) as { info: object }
      const payload = writeBody({ WebhookRegistry: info }, { contentType })
      const request = await writeRequest(webhook, payload, undefined)
      return sendOnce({ webhook, payload, contentType }, hookUrl, request)
    },
    changed(webhookId) {
      windows.changed(webhookId)
      handshakes?.changed(webhookId)
    },
    clear() {
      handshakes?.clear()
      windows.clear()
      retries.abandon()
      log.clear()
      faults.clear()
    },
    async close() {
      windows.close()
      retries.stop()
      handshakes?.stop()
      while (pending.size > 0) await Promise.allSettled(pending)
      retries.close()
    },
  }
}

/** Awaits several deliveries, and returns all their attempts. */
export async function collect(deliveries: readonly Promise<Attempt[]>[]): Promise<Attempt[]> {
  const [first] = deliveries
  return first && deliveries.length === 1 ? first : (await Promise.all(deliveries)).flat()
}
