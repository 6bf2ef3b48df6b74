import { configInvalid } from '../errors.ts'
import type { Attempt } from './delivery/attempt-log.ts'
import { collect, createEngine, type Engine } from './delivery/engine.ts'
import { createListeners, type Listeners, warn } from './event-listeners.ts'
import { createFeatureStore } from './features/feature-store.ts'
import { type MockServiceOptions, type ResolvedOptions, toOptions } from './options.ts'
import { createSaveQueue } from './save-queue.ts'
import {
  MAX_CHANGES,
  type MockEvent,
  requireEvent,
  requirePossible,
  type ServiceEvent,
  selects,
  toServiceEvent,
} from './state/events.ts'
import { createFailureLog } from './state/failures.ts'
import { createGenerations } from './state/generations.ts'
import { createServiceRegistry, type Service, servicePath } from './state/services.ts'
import { restoreSnapshot, type SnapshotSeed, type State, toSnapshot } from './state/snapshot.ts'
import { createWebhookStore } from './state/webhooks.ts'

/** A mock service without HTTP, shared by the administration, the control API and {@link createMockService}. */
export interface Mock {
  readonly options: ResolvedOptions
  readonly state: State
  readonly engine: Engine
  readonly listeners: Listeners
  /**
   * Listeners of the inspector. They get the id of a delivery when one of its attempts begins or ends, and undefined for
   * any other change.
   */
  readonly changes: Listeners<string | undefined>
  /**
   * Finds the webhooks that are subscribed to at least one of the events.
   *
   * @throws {WebhookError} `config_invalid` for an event that is invalid, or impossible on its service
   */
  findRecipients(events: MockEvent | readonly MockEvent[]): Recipients
  /**
   * Delivers events that have their generations to the webhooks of a service that are subscribed to them.
   *
   * @returns all attempts, once the last has ended
   */
  deliverEvents(service: Service, events: readonly ServiceEvent[]): Promise<Attempt[]>
  /** Does the same without waiting. */
  publish(service: Service, events: readonly ServiceEvent[]): void
  /** @returns all attempts, once the last has ended */
  deliver(recipients: Recipients): Promise<Attempt[]>
  /**
   * Replaces the state; the attempt log, faults and gathered events are kept.
   *
   * @throws {WebhookError} `config_invalid`, and changes nothing
   */
  restore(seed: SnapshotSeed): void
  /** Returns to the seeds, and drops the attempt log, faults and gathered events. */
  reset(): void
  /** Resolves when every change so far is saved. */
  save(): Promise<void>
}

/** For each webhook id, the events that the webhook is subscribed to. */
export type Recipients = ReadonlyMap<string, readonly ServiceEvent[]>

/**
 * @param ownUrl the address of the mock followed by `/rest`; undefined until it listens
 * @throws {WebhookError} `config_invalid`
 */
export function createMock(
  given: MockServiceOptions,
  ownUrl: () => string | undefined = () => undefined,
): Mock {
  const options = toOptions(given)
  const { clock, version } = options
  const listeners = createListeners()
  const changes = createListeners<string | undefined>()
  const changed = (): void => changes.emit(undefined)
  const generations = createGenerations(clock.now)
  const webhooks = createWebhookStore({
    now: clock.now,
    onChange(change, webhook) {
      engine.changed(webhook.id)
      listeners.emit({
        type: 'webhook',
        change,
        webhookId: webhook.id,
        name: webhook.name,
        service: servicePath(webhook),
      })
      changed()
    },
  })
  const state: State = {
    services: createServiceRegistry(),
    webhooks,
    failures: createFailureLog(),
    features: createFeatureStore(generations, clock.now),
    settings: options.settings,
  }
  const engine: Engine = createEngine(
    state,
    { ...options, ownUrl },
    {
      began: ({ deliveryId }) => changes.emit(deliveryId),
      finished(attempt) {
        listeners.emit({ type: 'attempt', attempt })
        changes.emit(attempt.deliveryId)
      },
      counted() {
        save().catch(warn)
        changed()
      },
      changed,
    },
  )
  restoreSnapshot(state, { services: options.services, webhooks: options.webhooks }, options.settings)
  // Includes the ids and times that were generated for the seeds, so that `reset` restores them too.
  const seed = toSnapshot(state)

  const save = createSaveQueue(() => options.save?.(toSnapshot(state)))

  /** @throws {WebhookError} `config_invalid` */
  function resolveEvent(event: MockEvent): { service: Service; serviceEvent: ServiceEvent } {
    requireEvent(event)
    const service = state.services.resolve(event)
    requirePossible(event, service, version)
    return { service, serviceEvent: toServiceEvent(event, service, clock.now()) }
  }

  /** Adds the webhooks that are subscribed to an event. */
  function addRecipients(
    recipients: Map<string, ServiceEvent[]>,
    service: Service,
    event: ServiceEvent,
  ): void {
    for (const webhook of webhooks.of(service)) {
      if (!selects(webhook, event)) continue
      const selected = recipients.get(webhook.id)
      if (selected) selected.push(event)
      else recipients.set(webhook.id, [event])
    }
  }

  function restore(snapshot: SnapshotSeed): void {
    restoreSnapshot(state, snapshot, options.settings)
    engine.changed()
    listeners.emit({ type: 'restored' })
    changed()
  }

  const deliver: Mock['deliver'] = (recipients) =>
    collect([...recipients].map(([id, events]) => engine.notify(id, events)))

  async function deliverEvents(service: Service, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    const recipients = new Map<string, ServiceEvent[]>()
    for (const event of events) addRecipients(recipients, service, event)
    if (events.length > 0) changed()
    return deliver(recipients)
  }

  return {
    options,
    state,
    engine,
    listeners,
    changes,
    findRecipients(given) {
      // Spread, because `map` would skip the holes of a sparse array.
      const events: readonly MockEvent[] = Array.isArray(given) ? [...given] : [given]
      const resolved = events.map(resolveEvent)
      const changes = resolved.reduce((sum, { serviceEvent }) => sum + serviceEvent.layerIds.length, 0)
      if (changes > MAX_CHANGES)
        throw configInvalid(`at most ${MAX_CHANGES} changes can be triggered together`)
      const recipients = new Map<string, ServiceEvent[]>()
      for (const { service, serviceEvent } of resolved) {
        serviceEvent.generation = generations.advance(service, serviceEvent.layerIds.length)
        addRecipients(recipients, service, serviceEvent)
      }
      return recipients
    },
    deliverEvents,
    publish(service, events) {
      deliverEvents(service, events).catch(warn)
    },
    deliver,
    restore,
    reset() {
      engine.clear()
      restore(seed)
    },
    save,
  }
}
