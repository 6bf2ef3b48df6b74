import { configInvalid } from '../errors.ts'
import { createSaveQueue } from '../shared/save-queue.ts'
import { collect, Engine } from './delivery/engine.ts'
import { describeWebhook, Listeners } from './event-listeners.ts'
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
import type { Attempt } from './state/records.ts'
import { Generations } from './state/records.ts'
import { type Service, ServiceRegistry } from './state/services.ts'
import { restoreSnapshot, type SnapshotSeed, type State, toSnapshot } from './state/snapshot.ts'
import { WebhookStore } from './state/webhooks.ts'

/** For each webhook id, the events that the webhook is subscribed to. */
export type Recipients = ReadonlyMap<string, readonly ServiceEvent[]>

/** A mock service without HTTP, shared by the administration, the control API and `createMockService`. */
export class Mock {
  readonly options: ResolvedOptions
  readonly state: State
  isFederated: boolean
  readonly engine: Engine
  readonly extractions: Extractions
  readonly listeners: Listeners = new Listeners()
  /**
   * Listeners of the inspector. They get the id of a delivery when one of its attempts begins or ends, and undefined for
   * any other change.
   */
  readonly changes: Listeners<string | undefined> = new Listeners()
  /** Resolves when every change so far is saved. */
  readonly save: () => Promise<void>
  readonly #generations: Generations
  /** Includes the ids and times that were generated for the seeds, so that `reset` restores them too. */
  readonly #seed: SnapshotSeed

  /**
   * @param ownUrl the address of the mock followed by `/rest`; undefined until it listens
   * @throws {WebhookError} `config_invalid`
   */
  constructor(given: MockServiceOptions, ownUrl: () => string | undefined = () => undefined) {
    const options = toOptions(given)
    const { now } = options.clock
    const webhooks = new WebhookStore(options, (change, webhook) => {
      this.engine.changed(webhook.id)
      this.listeners.emit({ type: 'webhook', change, ...describeWebhook(webhook) })
      this.changes.emit(undefined)
    })
    this.options = options
    this.#generations = new Generations(now)
    this.state = {
      services: new ServiceRegistry(),
      webhooks,
      failures: new Map(),
      handshakes: new Map(),
      features: new FeatureStore(this.#generations, now),
      settings: options.settings,
    }
    this.isFederated = options.federated ?? options.product !== 'service'
    this.save = createSaveQueue(() => options.save?.(toSnapshot(this.state)))
    this.engine = new Engine(this.state, { ...options, ownUrl }, this)
    this.extractions = new Extractions(now, options.extractChanges, this.engine.faults)
    restoreSnapshot(this.state, { services: options.services, webhooks: options.webhooks }, options.settings)
    this.#seed = toSnapshot(this.state)
  }

  /**
   * Finds the webhooks that are subscribed to at least one of the events.
   *
   * @throws {WebhookError} `config_invalid` for an event that is invalid, or impossible on its service
   */
  findRecipients(given: MockEvent | readonly MockEvent[]): Recipients {
    // Spread, because `map` would skip the holes of a sparse array.
    const events: readonly MockEvent[] = Array.isArray(given) ? [...given] : [given]
    const resolved = events.map((event) => this.#resolve(event))
    const changes = resolved.reduce((sum, { serviceEvent }) => sum + serviceEvent.layerIds.length, 0)
    if (changes > MAX_CHANGES) throw configInvalid(`at most ${MAX_CHANGES} changes can be triggered together`)
    const recipients = new Map<string, ServiceEvent[]>()
    for (const { service, serviceEvent } of resolved) {
      // Before the first generation, so that the first window can be extracted.
      if (service.serviceType === 'FeatureServer') this.state.features.of(service)
      serviceEvent.generation = this.#generations.advance(service, serviceEvent.layerIds.length)
      this.#addRecipients(recipients, service, serviceEvent)
    }
    return recipients
  }

  /** @returns all attempts, once the last has ended */
  deliver(recipients: Recipients): Promise<Attempt[]> {
    return collect([...recipients].map(([id, events]) => this.engine.notify(id, events)))
  }

  /**
   * Delivers events that have their generations to the webhooks of a service that are subscribed to them.
   *
   * @returns all attempts, once the last has ended
   */
  async deliverEvents(service: Service, events: readonly ServiceEvent[]): Promise<Attempt[]> {
    if (events.length > 0) this.changes.emit(undefined)
    const recipients = new Map<string, ServiceEvent[]>()
    for (const event of events) this.#addRecipients(recipients, service, event)
    return this.deliver(recipients)
  }

  /**
   * Replaces the state; the attempt log, faults and gathered events are kept.
   *
   * @throws {WebhookError} `config_invalid`, and changes nothing
   */
  restore(snapshot: SnapshotSeed): void {
    restoreSnapshot(this.state, snapshot, this.options.settings)
    this.engine.changed()
    this.listeners.emit({ type: 'restored' })
    this.changes.emit(undefined)
  }

  /** Returns to the seeds, and drops the attempt log, faults and gathered events. */
  reset(): void {
    this.engine.clear()
    this.extractions.clear()
    this.restore(this.#seed)
  }

  #resolve(event: MockEvent): { service: Service; serviceEvent: ServiceEvent } {
    check(eventSchema, event, 'event')
    const { clock, version } = this.options
    const service = this.state.services.resolve(event)
    requirePossible(event, service, version)
    return { service, serviceEvent: toServiceEvent(event, service, clock.now()) }
  }

  #addRecipients(recipients: Map<string, ServiceEvent[]>, service: Service, event: ServiceEvent): void {
    for (const webhook of this.state.webhooks.of(service)) {
      if (!selects(webhook, event)) continue
      const selected = recipients.get(webhook.id)
      if (selected) selected.push(event)
      else recipients.set(webhook.id, [event])
    }
  }
}
