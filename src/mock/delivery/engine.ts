import { randomUUID } from 'node:crypto'
import type { RawRequest } from '../../testing/body-signer.ts'
import { createFaults, type FaultStore } from '../faults/faults.ts'
import type { ResolvedOptions } from '../options.ts'
import { type ServiceEvent, selects } from '../state/events.ts'
import type { State } from '../state/snapshot.ts'
import { defaultSchedule, type ScheduleInfo, type Webhook } from '../state/webhook.ts'
import { has } from '../versions.ts'
import { type Attempt, type AttemptLog, createAttemptLog } from './attempt-log.ts'
import { createDeliveryRecords, type DeliveryRecord, type DeliveryRecords } from './delivery-records.ts'
import { toTarget } from './http-client.ts'
import { createPayloadWriter, type PayloadOptions } from './payloads.ts'
import { createRetries, type DeliveryResult } from './retries.ts'
import { createRequestWriter, type RequestWriter } from './signed-request.ts'
import { createWindows, type OpenWindow } from './windows.ts'

/** Turns events into deliveries. */
export interface Engine {
  readonly log: AttemptLog
  readonly faults: FaultStore
  readonly records: DeliveryRecords
  readonly windows: { list(): OpenWindow[] }
  /**
   * Delivers events to a webhook that is subscribed to them, immediately or when its window closes.
   *
   * @returns all attempts, once the last has ended
   */
  notify(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]>
  /** Sends a recorded attempt again, byte for byte. */
  redeliver(attempt: Attempt): Promise<Attempt>
  /**
   * Sends a request once, as a delivery of its own: it is neither retried nor counted as a failure, and gets no fault.
   *
   * @param request without the headers `host` and `content-length`
   */
  sendOnce(record: DeliveryRecord, hookUrl: string, request: RawRequest): Promise<Attempt>
  /** Signs a body with the key of the webhook, as its deliveries are. */
  readonly sign: RequestWriter
  /** The schedule by which a webhook gathers events; undefined if it does not gather them. */
  scheduleOf(webhookId: string): ScheduleInfo | undefined
  /** Applies the current schedule of a webhook to its open window; without an id, does so for all webhooks. */
  changed(webhookId?: string): void
  /** Drops gathered events, pending retries, the attempt log and all faults. */
  clear(): void
  /** Sends gathered events and waits for attempts in flight; nothing is retried. */
  close(): Promise<void>
}

/** Callbacks of the engine. */
export interface EngineListeners {
  /** Called when an attempt begins. */
  began(attempt: Attempt): void
  /** Called when an attempt has ended. */
  finished(attempt: Attempt): void
  /** Called when the failure count of a webhook has changed; the webhook may have been deactivated. */
  counted(): void
  /** Called when the faults or the open windows have changed. */
  changed(): void
}

/** @throws {WebhookError} `config_invalid` */
export function createEngine(
  state: State,
  options: ResolvedOptions & Pick<PayloadOptions, 'ownUrl'>,
  { began, finished, counted, changed }: EngineListeners,
): Engine {
  const { clock, version, gather, dialect, allowHosts } = options
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
    isActive: (webhookId) => state.webhooks.get(webhookId)?.active === true,
    began(attempt, { id, record }) {
      log.add(attempt)
      if (record) records.put(id, record)
      began(attempt)
    },
    finished,
    ended: countResult,
  })
  const windows = createWindows<ServiceEvent, Attempt>({ clock, scheduleOf, flush })

  /** The schedule by which a webhook gathers events; undefined if it does not gather them. */
  function scheduleOf(webhookId: string): ScheduleInfo | undefined {
    const webhook = state.webhooks.get(webhookId)
    if (!webhook || webhook.serviceType === 'GPServer' || gather === 'never') return undefined
    const { scheduleInfo, created } = webhook
    if (isSchedule(scheduleInfo)) return scheduleInfo
    return gather === 'always' ? defaultSchedule(created) : undefined
  }

  /** Sends the events of a closed window, using the webhook's current URL, key and change types. */
  async function flush(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    const webhook = state.webhooks.get(webhookId)
    changed()
    if (!webhook || scheduleOf(webhookId)?.state === 'disabled') return []
    const selected = events.filter((event) => selects(webhook, event))
    return selected.length === 0 ? [] : deliver(webhook, selected)
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
    // In the `hosted` dialect, a success resets the webhook's failure count (docs/senders.md, "Delivery").
    if (result === 'succeeded' && dialect === 'hosted' && state.failures.clear(webhookId)) counted()
    if (result === 'failed' && has(version, 'failures') && state.webhooks.get(webhookId)) {
      if (state.failures.add(webhookId, clock.now(), state.settings)) state.webhooks.switchOff(webhookId)
      counted()
    }
  }

  function track<T>(promise: Promise<T>): Promise<T> {
    const remove = (): void => void pending.delete(promise)
    pending.add(promise)
    promise.then(remove, remove)
    return promise
  }

  /** The number for a new attempt of the same delivery: one more than the highest number in the log. */
  const nextNumber = ({ deliveryId, number }: Attempt): number =>
    log
      .list()
      .filter((attempt) => attempt.deliveryId === deliveryId)
      .reduce((highest, attempt) => Math.max(highest, attempt.number), number) + 1

  return {
    log,
    faults,
    records,
    windows,
    sign: writeRequest,
    scheduleOf,
    async notify(webhookId, events) {
      const webhook = state.webhooks.get(webhookId)
      const schedule = scheduleOf(webhookId)
      if (!webhook || schedule?.state === 'disabled') return []
      if (!schedule) return track(deliver(webhook, events))
      const attempts = windows.add(webhookId, events)
      changed()
      return track(attempts)
    },
    redeliver(attempt) {
      const { deliveryId: id, webhookId, hookUrl, request } = attempt
      const { host: _host, 'content-length': _length, ...headers } = request.headers
      const target = toTarget(hookUrl, allowHosts)
      const delivery = { id, webhookId, target, request: { ...request, headers }, fault: undefined }
      return track(retries.resend({ ...delivery, record: records.get(id) }, () => nextNumber(attempt)))
    },
    sendOnce(record, hookUrl, request) {
      const { id: webhookId } = record.webhook
      const target = toTarget(hookUrl, allowHosts)
      const delivery = { id: randomUUID(), webhookId, target, request, fault: undefined, record }
      return track(retries.resend(delivery, () => 1))
    },
    changed: windows.changed,
    clear() {
      windows.clear()
      retries.abandon()
      log.clear()
      faults.clear()
    },
    async close() {
      windows.close()
      retries.stop()
      while (pending.size > 0) await Promise.allSettled(pending)
      await retries.close()
    },
  }
}

const isSchedule = (schedule: Webhook['scheduleInfo']): schedule is ScheduleInfo =>
  'recurrenceInfo' in schedule

/** Awaits several deliveries, and returns all their attempts. */
export async function collect(deliveries: readonly Promise<Attempt[]>[]): Promise<Attempt[]> {
  const [first] = deliveries
  return first && deliveries.length === 1 ? first : (await Promise.all(deliveries)).flat()
}
