import { configInvalid } from '../errors.ts'
import type { Attempt } from './delivery/attempt-log.ts'
import { createEngine, type Engine } from './delivery/engine.ts'
import { createNotices, type Notices } from './listeners.ts'
import { type MockServiceOptions, type Options, toOptions } from './options.ts'
import { createSaver } from './save-queue.ts'
import {
  type Happening,
  MAX_CHANGES,
  type MockEvent,
  requireEvent,
  requirePossible,
  selects,
  toHappening,
} from './state/events.ts'
import { createFailureLog } from './state/failures.ts'
import { createServiceRegistry, type Service, servicePath } from './state/services.ts'
import { restoreSnapshot, type SnapshotSeed, type State, toSnapshot } from './state/snapshot.ts'
import { createWebhookStore } from './state/webhooks.ts'
import { together } from './together.ts'
import { warn } from './warn.ts'

/** A mock service without its HTTP side: what the administration, the control API and TypeScript all work on. */
export interface Core {
  readonly options: Options
  readonly state: State
  readonly engine: Engine
  readonly notices: Notices
  /**
   * The webhooks that are subscribed to events, each with those that it is to hear of.
   *
   * @throws {WebhookError} `config_invalid` for an event that cannot happen
   */
  select(events: MockEvent | readonly MockEvent[]): Selection
  /** Sends what was selected. */
  notify(selection: Selection): Promise<Attempt[]>
  /**
   * Records, faults and gathered events stay.
   *
   * @throws {WebhookError} `config_invalid`; then nothing has changed
   */
  restore(seed: SnapshotSeed): void
  /** Back to the seeds; records, faults and gathered events are gone. */
  reset(): void
  /** Resolves when what has changed is saved. */
  save(): Promise<void>
}

/** Webhooks by their ids, each once, with what they are to hear of. */
export type Selection = readonly (readonly [webhookId: string, happenings: readonly Happening[]])[]

/** @throws {WebhookError} `config_invalid` */
export function createCore(given: MockServiceOptions): Core {
  const options = toOptions(given)
  const { clock, version } = options
  const notices = createNotices()
  /** Of each service, how often it has changed, counted from the time of the first event. */
  const generations = new Map<string, number>()
  const webhooks = createWebhookStore({
    now: clock.now,
    onChange(change, webhook) {
      engine.changed(webhook.id)
      notices.emit({
        type: 'webhook',
        change,
        webhookId: webhook.id,
        name: webhook.name,
        service: servicePath(webhook),
      })
    },
  })
  const state: State = {
    services: createServiceRegistry(),
    webhooks,
    failures: createFailureLog(),
    settings: options.settings,
  }
  const engine: Engine = createEngine(state, options, {
    finished: (attempt) => notices.emit({ type: 'attempt', attempt }),
    // Nobody waits for this one: it comes with the end of a delivery.
    counted: () => void save().catch(warn),
  })
  restoreSnapshot(state, { services: options.services, webhooks: options.webhooks }, options.settings)
  // What a reset goes back to, with the ids and times that were made now.
  const seed = toSnapshot(state)

  const save = createSaver(() => options.save?.(toSnapshot(state)))

  /** @returns the generation before the changes */
  function advance(service: Service, changes: number): number {
    const path = servicePath(service)
    const before = generations.get(path) ?? clock.now()
    generations.set(path, before + changes)
    return before
  }

  /** @throws {WebhookError} `config_invalid` */
  function happen(event: MockEvent): { service: Service; happening: Happening } {
    requireEvent(event)
    const service = state.services.resolve(event)
    requirePossible(event, service, version)
    return { service, happening: toHappening(event, service, clock.now()) }
  }

  function restore(snapshot: SnapshotSeed): void {
    restoreSnapshot(state, snapshot, options.settings)
    engine.changed()
    notices.emit({ type: 'restored' })
  }

  return {
    options,
    state,
    engine,
    notices,
    select(given) {
      // Spread: map() alone skips the holes of a sparse list.
      const events: readonly MockEvent[] = Array.isArray(given) ? [...given] : [given]
      const happened = events.map(happen)
      const changes = happened.reduce((sum, { happening }) => sum + happening.layerIds.length, 0)
      if (changes > MAX_CHANGES)
        throw configInvalid(`at most ${MAX_CHANGES} changes can be triggered together`)
      const selected: [webhookId: string, happenings: Happening[]][] = []
      // One event finds each webhook once.
      const byId = happened.length > 1 ? new Map<string, Happening[]>() : undefined
      for (const { service, happening } of happened) {
        happening.generation = advance(service, happening.layerIds.length)
        for (const webhook of webhooks.of(service)) {
          if (!selects(webhook, happening)) continue
          const known = byId?.get(webhook.id)
          if (known) known.push(happening)
          else {
            const happenings = [happening]
            byId?.set(webhook.id, happenings)
            selected.push([webhook.id, happenings])
          }
        }
      }
      return selected
    },
    notify: (selection) => together(selection.map(([id, happenings]) => engine.notify(id, happenings))),
    restore,
    reset() {
      engine.clear()
      restore(seed)
    },
    save,
  }
}
