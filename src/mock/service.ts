import { configInvalid } from '../errors.ts'
import { createSaveQueue } from '../shared/save-queue.ts'
import type { Federation } from './admin/operation.ts'
import type { Attempt } from './delivery/attempt.ts'
import { collect, Engine } from './delivery/engine.ts'
import { createListeners, type Listeners, warn } from './event-listeners.ts'
import { Extractions } from './features/extract/extractions.ts'
import { FeatureStore } from './features/feature-data.ts'
import type { MockServiceOptions, ResolvedOptions } from './options.ts'
import { toOptions } from './read-options.ts'
import { check, eventSchema } from './schemas.ts'
import {
  MAX_CHANGES,
  type MockEvent,
  requirePossible,
  type ServiceEvent,
  selects,
  toServiceEvent,
} from './state/events.ts'
import { Generations } from './state/records.ts'
import { type Service, ServiceRegistry, servicePath } from './state/services.ts'
import { restoreSnapshot, type SnapshotSeed, type State, toSnapshot } from './state/snapshot.ts'
import { type Webhook, WebhookStore } from './state/webhooks.ts'

/** For each webhook id, the events that the webhook is subscribed to. */
export type Recipients = ReadonlyMap<string, readonly ServiceEvent[]>

/** A mock service without HTTP, shared by the administration, the control API and {@link createMockService}. */
export interface Mock {
  readonly options: ResolvedOptions
  readonly state: State
  readonly federation: Federation
  readonly engine: Engine
  readonly extractions: Extractions
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
  /** The recorded attempts, oldest first, as a new array. */
  attempts(): Attempt[]
  /** Announces a webhook of a portal to its payload URL. Never rejects: a failure is recorded in the attempt. */
  register(webhook: Readonly<Webhook>): Promise<Attempt>
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
  const generations = new Generations(clock.now)
  const webhooks = new WebhookStore(options, (change, webhook) => {
    engine.changed(webhook.id)
    const { id: webhookId, name } = webhook
    listeners.emit({ type: 'webhook', change, webhookId, name, service: servicePath(webhook) })
    changed()
  })
  const state: State = {
    services: new ServiceRegistry(),
    webhooks,
    failures: new Map(),
    handshakes: new Map(),
    features: new FeatureStore(generations, clock.now),
    settings: options.settings,
  }
  const save = createSaveQueue(() => options.save?.(toSnapshot(state)))
  const engine = new Engine(state, { ...options, ownUrl }, { listeners, changes, save })
  const extractions = new Extractions(clock.now, options.extractChanges, engine.faults)
  restoreSnapshot(state, { services: options.services, webhooks: options.webhooks }, options.settings)
  // Includes the ids and times that were generated for the seeds, so that `reset` restores them too.
  const seed = toSnapshot(state)

  function resolveEvent(event: MockEvent): { service: Service; serviceEvent: ServiceEvent } {
    check(eventSchema, event, 'event')
    const service = state.services.resolve(event)
    requirePossible(event, service, version)
    return { service, serviceEvent: toServiceEvent(event, service, clock.now()) }
  }

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

  function findRecipients(given: MockEvent | readonly MockEvent[]): Recipients {
    // Spread, because `map` would skip the holes of a sparse array.
    const events: readonly MockEvent[] = Array.isArray(given) ? [...given] : [given]
    const resolved = events.map(resolveEvent)
    const changes = resolved.reduce((sum, { serviceEvent }) => sum + serviceEvent.layerIds.length, 0)
    if (changes > MAX_CHANGES) throw configInvalid(`at most ${MAX_CHANGES} changes can be triggered together`)
    const recipients = new Map<string, ServiceEvent[]>()
    for (const { service, serviceEvent } of resolved) {
      // Before the first generation, so that the first window can be extracted.
      if (service.serviceType === 'FeatureServer') state.features.of(service)
      serviceEvent.generation = generations.advance(service, serviceEvent.layerIds.length)
      addRecipients(recipients, service, serviceEvent)
    }
    return recipients
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
    if (events.length > 0) changed()
    const recipients = new Map<string, ServiceEvent[]>()
    for (const event of events) addRecipients(recipients, service, event)
    return deliver(recipients)
  }

  return {
    options,
    state,
    federation: { isFederated: options.federated ?? options.product !== 'service' },
    engine,
    extractions,
    listeners,
    changes,
    findRecipients,
    deliverEvents,
    publish(service, events) {
      deliverEvents(service, events).catch(warn)
    },
    deliver,
    attempts: () => engine.log.list(),
    register: (webhook) => engine.register(webhook),
    restore,
    reset() {
      engine.clear()
      extractions.clear()
      restore(seed)
    },
    save,
  }
}
