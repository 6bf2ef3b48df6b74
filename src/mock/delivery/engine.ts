import { randomUUID } from 'node:crypto'
import { type RawRequest, writeBody } from '../../testing/signer.ts'
import { type Notice, warn } from '../event-listeners.ts'
import { createFaults, type FaultStore } from '../faults/faults.ts'
import { type ServiceEvent, selects } from '../state/events.ts'
import type { Attempt } from '../state/records.ts'
import { ORG_ID } from '../state/services.ts'
import type { State } from '../state/snapshot.ts'
import { type ScheduleInfo, shownSchedule, type Webhook } from '../state/webhooks.ts'
import { has } from '../versions.ts'
import type { AttemptLog, AttemptRecord } from './attempt.ts'
import { Handshakes } from './handshakes.ts'
import { type PayloadOptions, RequestWriter, toPortalPayload, writePayloads } from './payloads.ts'
import { type DeliveryResult, type Reports, Retries } from './retries.ts'
import { Windows } from './windows.ts'

const DAY = 86_400_000
/** Maximum number of failures kept per webhook: the upper bound of `numberOfFailures`. */
const MAX_FAILURES = 1000

/** The listeners of an engine, and the function that saves its changes. */
interface EngineReports extends Reports {
  /** Resolves when every change so far is saved. */
  save(): Promise<void>
}

/** Turns events into deliveries. */
export class Engine {
  readonly log: AttemptLog
  readonly faults: FaultStore
  readonly windows: Windows
  /** Undefined if the service makes no handshakes. */
  readonly handshakes: Handshakes | undefined
  readonly #state: State
  readonly #options: PayloadOptions
  readonly #reports: EngineReports
  readonly #retries: Retries
  readonly #requests: RequestWriter
  /** Deliveries, handshakes and open windows that `close` waits for. */
  readonly #pending = new Set<Promise<unknown>>()

  /** @throws {WebhookError} `config_invalid` */
  constructor(state: State, options: PayloadOptions, reports: EngineReports) {
    const { clock, handshake } = options
    this.#state = state
    this.#options = options
    this.#reports = reports
    this.faults = createFaults(() => this.#changed())
    this.#requests = new RequestWriter(options)
    const isActive = (id: string): boolean =>
      state.webhooks.get(id)?.active === true && !this.handshakes?.hasFailed(id)
    const retries = new Retries(state, options, reports, isActive)
    this.#retries = retries
    this.log = retries.log
    const listeners = {
      began: (handshake: Promise<void>): void => {
        const tracked = this.#track(handshake)
        clock.during?.(tracked)
        this.#changed()
      },
      notify: (notice: Notice): void => {
        reports.listeners.emit(notice)
        this.#saveCount()
      },
    }
    this.handshakes =
      handshake === false ? undefined : new Handshakes(state, clock, handshake, retries, listeners)
    this.windows = new Windows(
      clock,
      (id) => this.scheduleOf(id),
      (id, events) => this.#flush(id, events),
    )
  }

  /**
   * Delivers events to a webhook that is subscribed to them, immediately or when its window closes.
   *
   * @returns all attempts, once the last has ended
   */
  async notify(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    const webhook = this.#state.webhooks.get(webhookId)
    const schedule = this.scheduleOf(webhookId)
    if (!webhook || schedule?.state === 'disabled') return []
    if (!schedule)
      return this.#track(this.handshakes ? this.#flush(webhookId, events) : this.#deliver(webhook, events))
    const attempts = this.windows.add(webhookId, events)
    this.#changed()
    return this.#track(attempts)
  }

  /** Sends a recorded attempt again, byte for byte, even if the webhook was changed or deactivated. */
  redeliver({ id, deliveryId, webhookId, hookUrl, request, number }: Attempt): Promise<Attempt> {
    const record = this.log.records.get(id)
    return this.#track(this.#retries.resend({ id: deliveryId, webhookId, hookUrl, request, record }, number))
  }

  /**
   * Sends a request once, as a delivery of its own: it is neither retried nor counted as a failure, and gets no fault.
   *
   * @param request without the headers `host` and `content-length`
   */
  sendOnce(record: AttemptRecord, hookUrl: string, request: RawRequest): Promise<Attempt> {
    const delivery = { id: randomUUID(), webhookId: record.webhook.id, hookUrl, request, record }
    return this.#track(this.#retries.resend(delivery))
  }

  /** Waits before a response of the administration is sent, at most until the service closes or is reset. */
  readonly holdAnswer = (milliseconds: number): Promise<unknown> => this.#retries.pause(milliseconds)

  /** Signs a body with the key of the webhook, as its deliveries are. */
  sign(webhook: Readonly<Webhook>, body: Uint8Array<ArrayBuffer>): Promise<RawRequest> {
    return this.#requests.write(webhook, body, undefined)
  }

  /** Announces a webhook of a portal to its payload URL. Never rejects: a failure is recorded in the attempt. */
  async register(webhook: Readonly<Webhook>): Promise<Attempt> {
    const { contentType, hookUrl } = webhook
    const when = this.#options.clock.now()
    const event = { changeType: 'register', subscriptions: [], when, layerIds: [0], generation: 0 }
    const { info } = toPortalPayload(webhook, [event]) as { info: object }
    // Of the body, only the member `WebhookRegistry` is known; it contains the `info` of deliveries
    // (docs/decisions.md, "Mock service").
    const payload = writeBody({ WebhookRegistry: info }, { contentType })
    const request = await this.sign(webhook, payload)
    return this.sendOnce({ webhook, payload, contentType }, hookUrl, request)
  }

  /** Asks a payload URL whether it responds, as hosted services do. Never rejects, as {@link register}. */
  async checkUrl(webhook: Readonly<Webhook>): Promise<Attempt> {
    const { contentType, hookUrl, name, serviceName } = webhook
    const status = { name, orgId: ORG_ID, serviceName, lastUpdatedTime: this.#options.clock.now() }
    const options = { ...this.#options.signature, contentType }
    const payload = writeBody([{ ...status, events: ['NoContent'] }], options)
    return this.sendOnce({ webhook, payload, contentType }, hookUrl, await this.sign(webhook, payload))
  }

  /** Returns the schedule by which a webhook gathers events; undefined if it does not gather them. */
  scheduleOf(webhookId: string): ScheduleInfo | undefined {
    const { window } = this.#options
    const webhook = this.#state.webhooks.get(webhookId)
    if (!webhook || window.webhooks === 'none') return undefined
    const schedule = shownSchedule(webhook, window)
    return 'recurrenceInfo' in schedule ? (schedule as ScheduleInfo) : undefined
  }

  /**
   * Applies a change of a webhook to its open window and its handshakes; without an id, does so for all webhooks.
   */
  changed(webhookId?: string): void {
    this.windows.changed(webhookId)
    this.handshakes?.changed(webhookId)
  }

  /** Drops gathered events, pending retries, the attempt log and all faults. */
  clear(): void {
    this.handshakes?.clear()
    this.windows.clear()
    this.#retries.abandon()
    this.log.clear()
    this.faults.clear()
  }

  /** Sends gathered events and waits for attempts in flight; nothing is retried. */
  async close(): Promise<void> {
    this.windows.close()
    this.#retries.stop()
    this.handshakes?.stop()
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
    this.#retries.close()
  }

  /** Reports that the faults, the open windows, a failure count or a handshake have changed. */
  #changed(): void {
    this.#reports.changes.emit(undefined)
  }

  #track<T>(promise: Promise<T>): Promise<T> {
    const remove = (): void => void this.#pending.delete(promise)
    this.#pending.add(promise)
    promise.then(remove, remove)
    return promise
  }

  /** The events to send to a webhook now, with its current URL, key and change types. */
  #select(webhookId: string, events: readonly ServiceEvent[]) {
    const webhook = this.#state.webhooks.get(webhookId)
    if (!webhook || this.scheduleOf(webhookId)?.state === 'disabled') return undefined
    const selected = events.filter((event) => selects(webhook, event))
    return selected.length === 0 ? undefined : { webhook, selected }
  }

  /** Sends the events of a closed window, or of a service that makes handshakes. */
  async #flush(webhookId: string, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    this.#changed()
    const due = this.#select(webhookId, events)
    if (!due) return []
    if (!this.handshakes) return this.#deliver(due.webhook, due.selected)
    if (!(await this.handshakes.allows(webhookId, due.selected.length))) return []
    const allowed = this.#select(webhookId, events)
    const attempts = allowed ? await this.#deliver(allowed.webhook, allowed.selected) : []
    if (allowed && attempts.length === 0) this.handshakes.countNotSent(webhookId, allowed.selected.length)
    return attempts
  }

  #deliver(webhook: Readonly<Webhook>, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    return collect(
      writePayloads(webhook, events, this.#options).map((json) => this.#deliverJson(webhook, json)),
    )
  }

  async #deliverJson(webhook: Readonly<Webhook>, json: string): Promise<Attempt[]> {
    const fault = this.faults.take(webhook.id)
    const { attempts, result } = await this.#retries.deliver(webhook, fault, async (current) => {
      const { contentType, hookUrl } = current
      const payload = writeBody(json, { ...this.#options.signature, contentType })
      const request = await this.#requests.write(current, payload, fault?.fault)
      return { hookUrl, request, record: { webhook: current, payload, contentType } }
    })
    this.#countResult(webhook.id, result)
    return attempts
  }

  #countResult(webhookId: string, result: DeliveryResult): void {
    const { clock, dialect, version } = this.#options
    const { failures, settings, webhooks } = this.#state
    const webhook = webhooks.get(webhookId)
    const isPortal = webhook?.serviceType === 'Portal'
    // In the `hosted` dialect, a success and a deactivation clear the list of failures (docs/senders.md, "Delivery").
    if (result === 'succeeded' && dialect === 'hosted' && !isPortal && failures.delete(webhookId))
      this.#saveCount()
    if (result === 'failed' && webhook && (isPortal || has(version, 'failures'))) {
      const { numberOfFailures, daysInPast } = { ...settings, ...webhook.config?.deactivationPolicy }
      const times = [...(failures.get(webhookId) ?? []), clock.now()].slice(-MAX_FAILURES)
      failures.set(webhookId, times)
      const start = clock.now() - daysInPast * DAY
      if (times.filter((time) => time > start).length >= numberOfFailures) {
        webhooks.switchOff(webhookId)
        if (dialect === 'hosted' && !isPortal) failures.delete(webhookId)
      }
      this.#saveCount()
    }
  }

  /** Saves the failure count of a webhook, which may have been deactivated, or its handshake. */
  #saveCount(): void {
    this.#reports.save().catch(warn)
    this.#changed()
  }
}

/** Awaits several deliveries, and returns all their attempts. */
export const collect = async (deliveries: readonly Promise<Attempt[]>[]): Promise<Attempt[]> =>
  (await Promise.all(deliveries)).flat()
