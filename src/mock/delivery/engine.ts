import { perObject } from '../memoize.ts'
import type { Options } from '../options.ts'
import { type Happening, selects } from '../state/events.ts'
import type { State } from '../state/snapshot.ts'
import { defaultSchedule, type ScheduleInfo, type Webhook } from '../state/webhook.ts'
import { together } from '../together.ts'
import { has } from '../versions.ts'
import { type Attempt, type AttemptLog, createAttemptLog } from './attempt-log.ts'
import { createFaults, type FaultBox } from './faults.ts'
import { createIds } from './ids.ts'
import { createBodyWriter } from './payloads.ts'
import { type Courier, createCourier, type Result } from './retries.ts'
import { createRequestWriter } from './signed-request.ts'
import { toTarget } from './target.ts'
import { createWindows } from './windows.ts'
import { createWork } from './work.ts'

/** Turns what happens on services into deliveries. */
export interface Engine {
  readonly log: AttemptLog
  readonly faults: FaultBox
  /**
   * Sends the events to a webhook that is subscribed to them, at once or when its window has closed.
   *
   * @returns all attempts, once no more are to come
   */
  notify(webhookId: string, events: readonly Happening[]): Promise<Attempt[]>
  /** Sends a recorded attempt once more, byte for byte. */
  redeliver(attempt: Attempt): Promise<Attempt>
  /** A webhook was edited, switched off or deleted; without an id, there are others now. */
  changed(webhookId?: string): void
  /** Forgets what was gathered and recorded, what waits for its next attempt, and all faults. */
  clear(): void
  /** Sends what was gathered, and waits for what is on the wire; nothing is tried again. */
  close(): Promise<void>
}

/** Who is told of what the engine does. */
export interface EngineListeners {
  /** An attempt has ended. */
  finished(attempt: Attempt): void
  /** The failures of a webhook are others now, and with them perhaps whether it is active. */
  counted(): void
}

/** @throws {WebhookError} `config_invalid` */
export function createEngine(state: State, options: Options, { finished, counted }: EngineListeners): Engine {
  const { clock, version, gather, dialect, allowHosts } = options
  const log = createAttemptLog()
  const faults = createFaults()
  const newId = createIds()
  const writeBodies = createBodyWriter(options)
  const writeRequest = createRequestWriter(options)
  const targetOf = perObject(({ hookUrl }: Readonly<Webhook>) => toTarget(hookUrl, allowHosts))
  const work = createWork()
  const courier: Courier = createCourier({
    ...options,
    settings: () =>
      has(version, 'failures') ? state.settings : { ...state.settings, notificationAttempts: 1 },
    isWanted: (webhookId) => state.webhooks.get(webhookId)?.active === true,
    work,
    newId,
    record: log.add,
    finished,
    ended: count,
  })
  const windows = createWindows<Happening, Attempt>({ clock, scheduleOf, flush })

  /** The schedule by which a webhook gathers; undefined where it does not. */
  function scheduleOf(webhookId: string): ScheduleInfo | undefined {
    const webhook = state.webhooks.get(webhookId)
    if (!webhook || webhook.serviceType === 'GPServer' || gather === 'never') return undefined
    const { scheduleInfo, created } = webhook
    if (isSchedule(scheduleInfo)) return scheduleInfo
    return gather === 'always' ? defaultSchedule(created) : undefined
  }

  /** With the webhook as it is now: payload URL, key and triggers may have changed since the window opened. */
  async function flush(webhookId: string, events: readonly Happening[]): Promise<Attempt[]> {
    const webhook = state.webhooks.get(webhookId)
    if (!webhook || scheduleOf(webhookId)?.state === 'disabled') return []
    const selected = events.filter((event) => selects(webhook, event))
    return selected.length === 0 ? [] : invoke(webhook, selected)
  }

  const invoke = (webhook: Readonly<Webhook>, events: readonly Happening[]): Promise<Attempt[]> =>
    together(writeBodies(webhook, events).map((body) => deliver(webhook, body)))

  function deliver(webhook: Readonly<Webhook>, body: Uint8Array<ArrayBuffer>): Promise<Attempt[]> {
    const { id: webhookId } = webhook
    const fault = faults.take(webhookId)
    const delivery = { id: newId(), webhookId, target: targetOf(webhook), fault }
    const writing = writeRequest(webhook, body, fault?.fault)
    return courier.deliver(delivery, writing)
  }

  function count(webhookId: string, result: Result): void {
    // Of hosted services a success resets the count (field facts, "Delivery").
    if (result === 'succeeded' && dialect === 'hosted' && state.failures.clear(webhookId)) counted()
    if (result === 'failed' && has(version, 'failures') && state.webhooks.get(webhookId)) {
      if (state.failures.add(webhookId, clock.now(), state.settings)) state.webhooks.switchOff(webhookId)
      counted()
    }
  }

  return {
    log,
    faults,
    notify(webhookId, events) {
      const webhook = state.webhooks.get(webhookId)
      const schedule = scheduleOf(webhookId)
      if (!webhook || schedule?.state === 'disabled') return Promise.resolve([])
      return schedule ? work.track(windows.add(webhookId, events)) : invoke(webhook, events)
    },
    redeliver({ deliveryId: id, webhookId, hookUrl, request, number }) {
      // The connection makes these anew.
      const { host: _host, 'content-length': _length, ...headers } = request.headers
      const target = toTarget(hookUrl, allowHosts)
      const delivery = { id, webhookId, target, request: { ...request, headers }, fault: undefined }
      const numbers = (): number[] =>
        log
          .list()
          .filter(({ deliveryId }) => deliveryId === id)
          .map(({ number }) => number)
      return courier.again(delivery, () => Math.max(number, ...numbers()) + 1)
    },
    changed: windows.changed,
    clear() {
      windows.clear()
      courier.forget()
      log.clear()
      faults.clear()
    },
    async close() {
      windows.close()
      courier.stop()
      await work.idle()
      await courier.close()
    },
  }
}

const isSchedule = (schedule: Webhook['scheduleInfo']): schedule is ScheduleInfo =>
  'recurrenceInfo' in schedule
