import { randomUUID } from 'node:crypto'
import { type RawRequest, writeBody } from '../../testing/signer.ts'
import type { Notice } from '../event-listeners.ts'
import { createFaults, type FaultStore } from '../faults/faults.ts'
import type { ResolvedOptions } from '../options.ts'
import { type ServiceEvent, selects } from '../state/events.ts'
import type { State } from '../state/snapshot.ts'
import {
  type ResolvedWindow,
  type ScheduleInfo,
  shownSchedule,
  type Webhook,
  type WebhookStore,
} from '../state/webhooks.ts'
import { has } from '../versions.ts'
import {
  type Attempt,
  type AttemptLog,
  createAttemptLog,
  createDeliveryRecords,
  type DeliveryRecord,
  type DeliveryRecords,
} from './attempt.ts'
import { createServiceHandshakes, type Handshakes } from './handshakes.ts'
import { toTarget } from './http-client.ts'
import {
  createPayloadWriter,
  createRequestWriter,
  type PayloadOptions,
  type RequestWriter,
  toPortalPayload,
} from './payloads.ts'
import { createRetries, type DeliveryResult, type Retries } from './retries.ts'
import { createWindows, type OpenWindow } from './windows.ts'

/** Sends requests at the wish of a user. Each is one attempt, even if the webhook was changed or deactivated. */
interface Resends {
  /** Sends a recorded attempt again, byte for byte. */
  redeliver(attempt: Attempt): Promise<Attempt>
  /**
   * Sends a request once, as a delivery of its own: it is neither retried nor counted as a failure, and gets no fault.
   *
   * @param request without the headers `host` and `content-length`
   */
  sendOnce(record: DeliveryRecord, hookUrl: string, request: RawRequest): Promise<Attempt>
}

interface ResendsOptions {
  log: AttemptLog
  records: DeliveryRecords
  allowHosts: readonly string[]
  retries: Retries
}

function createResends({ log, records, allowHosts, retries }: ResendsOptions): Resends {
  /** The number for a new attempt of the same delivery: one more than the highest number in the log. */
  const nextNumber = ({ deliveryId, number }: Attempt): number =>
    log
      .list()
      .filter((attempt) => attempt.deliveryId === deliveryId)
      .reduce((highest, attempt) => Math.max(highest, attempt.number), number) + 1

  return {
    redeliver(attempt) {
      const { deliveryId: id, webhookId, hookUrl, request } = attempt
      const { host: _host, 'content-length': _length, ...headers } = request.headers
      const target = toTarget(hookUrl, allowHosts)
      const delivery = { id, webhookId, target, request: { ...request, headers }, fault: undefined }
      return retries.resend({ ...delivery, record: records.get(id) }, () => nextNumber(attempt))
    },
    sendOnce(record, hookUrl, request) {
      const { id: webhookId } = record.webhook
      const target = toTarget(hookUrl, allowHosts)
      return retries.resend(
        { id: randomUUID(), webhookId, target, request, fault: undefined, record },
        () => 1,
      )
    },
  }
}

/** Returns the schedule by which a webhook gathers events; undefined if it does not gather them. */
type ScheduleOf = (webhookId: string) => ScheduleInfo | undefined

const createScheduleOf =
  (webhooks: WebhookStore, window: ResolvedWindow): ScheduleOf =>
  (webhookId) => {
    const webhook = webhooks.get(webhookId)
    if (!webhook || window.webhooks === 'none') return undefined
    const schedule = shownSchedule(webhook, window)
    return isSchedule(schedule) ? schedule : undefined
  }

const isSchedule = (schedule: Webhook['scheduleInfo']): schedule is ScheduleInfo =>
  'recurrenceInfo' in schedule

/** Turns events into deliveries. */
export interface Engine extends Resends {
  readonly log: AttemptLog
  readonly faults: FaultStore
  readonly records: DeliveryRecords
  readonly windows: { list(): OpenWindow[] }
  /** Undefined if the service makes no handshakes. */
  readonly handshakes: Pick<Handshakes, 'hasFailed' | 'stateOf' | 'repeat'> | undefined
  /**
   * Delivers events to a webhook that is subscribed to them, immediately or when its window closes.
   *
   * @returns all attempts, once the last has ended
   */
  notify(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]>
  /** Signs a body with the key of the webhook, as its deliveries are. */
  readonly sign: RequestWriter
  readonly scheduleOf: ScheduleOf
  /**
   * Applies a change of a webhook to its open window and its handshakes; without an id, does so for all webhooks.
   */
  changed(webhookId?: string): void
  /** Drops gathered events, pending retries, the attempt log and all faults. */
  clear(): void
  /** Sends gathered events and waits for attempts in flight; nothing is retried. */
  close(): Promise<void>
}

/** Callbacks of the engine. */
interface EngineListeners {
  /** Called when an attempt begins. */
  began(attempt: Attempt): void
  /** Called when an attempt has ended. */
  finished(attempt: Attempt): void
  /** Called when the failure count of a webhook has changed; the webhook may have been deactivated. */
  counted(): void
  /** Called when the faults, the open windows or a handshake have changed. */
  changed(): void
  /** Called when a handshake has ended, and when events were not sent because of it. */
  noticed(notice: Notice): void
}

/** @throws {WebhookError} `config_invalid` */
export function createEngine(
  state: State,
  options: ResolvedOptions & Pick<PayloadOptions, 'ownUrl'>,
  { began, finished, counted, changed, noticed }: EngineListeners,
): Engine {
  const { clock, version, dialect, allowHosts } = options
  const log = createAttemptLog()
  const faults = createFaults(changed)
  const records = createDeliveryRecords()
  const writePayloads = createPayloadWriter(options)
  const writeRequest = createRequestWriter(options)
  /** Deliveries and open windows that `close` waits for. */
  const pending = new Set<Promise<unknown>>()
  const retries = createRetries({
    ...options,
    settings: () =>
      has(version, 'failures') ? state.settings : { ...state.settings, notificationAttempts: 1 },
    isActive: (id) => state.webhooks.get(id)?.active === true && !handshakes?.hasFailed(id),
    began(attempt, { id, record }) {
      log.add(attempt)
      if (record) records.put(id, record)
      began(attempt)
    },
    finished,
    ended: countResult,
  })
  const resends = createResends({ log, records, allowHosts, retries })
  const scheduleOf = createScheduleOf(state.webhooks, options.window)
  const handshakes = createServiceHandshakes(state, options, retries.send, {
    began(handshake) {
      clock.during?.(track(handshake))
      changed()
    },
    notify(notice) {
      noticed(notice)
      counted()
    },
  })
  const windows = createWindows<ServiceEvent, Attempt>({ clock, scheduleOf, flush })

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
    if (result === 'succeeded' && dialect === 'hosted' && !isPortal && state.failures.clear(webhookId))
      counted()
    if (result === 'failed' && webhook && (isPortal || has(version, 'failures'))) {
      const limits = { ...state.settings, ...webhook.config?.deactivationPolicy }
      if (state.failures.add(webhookId, clock.now(), limits)) state.webhooks.switchOff(webhookId)
      counted()
    }
  }

  function track<T>(promise: Promise<T>): Promise<T> {
    const remove = (): void => void pending.delete(promise)
    pending.add(promise)
    promise.then(remove, remove)
    return promise
  }

  return {
    log,
    faults,
    records,
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
    redeliver: (attempt) => track(resends.redeliver(attempt)),
    sendOnce: (...request) => track(resends.sendOnce(...request)),
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

/**
 * Announces a webhook of a portal to its payload URL. Of the body, only the member `WebhookRegistry` is known; it
 * contains the `info` of deliveries (docs/decisions.md, "Mock service"). The attempt is in the log.
 */
export async function sendRegistration(
  { sign, sendOnce }: Pick<Engine, 'sign' | 'sendOnce'>,
  webhook: Readonly<Webhook>,
  now: number,
): Promise<Attempt> {
  const { contentType, hookUrl } = webhook
  const event = { changeType: 'register', subscriptions: [], when: now, layerIds: [0], generation: 0 }
  const { info } = toPortalPayload(webhook, [event]) as { info: object }
  const payload = writeBody({ WebhookRegistry: info }, { contentType })
  return sendOnce({ webhook, payload, contentType }, hookUrl, await sign(webhook, payload, undefined))
}
