import { configInvalid } from '../errors.ts'
import type { Attempt } from './delivery/attempts.ts'
import { createEngine, type Engine } from './delivery/engine.ts'
import { type Happening, MAX_CHANGES, type MockEvent, requireEvent, selects, toHappening } from './events.ts'
import { createFailureLog } from './failures.ts'
import { createNotices, type Notices } from './notices.ts'
import { type MockServiceOptions, type Options, toOptions } from './options.ts'
import { createSaver } from './saver.ts'
import { createServiceRegistry, type Service, servicePath } from './services.ts'
import { restoreSnapshot, type SnapshotSeed, type State, toSnapshot } from './snapshot.ts'
import { warn } from './warn.ts'
import { createWebhookStore } from './webhooks.ts'

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

/** By the ids of webhooks. */
export type Selection = ReadonlyMap<string, readonly Happening[]>

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
      const events = [given].flat() as readonly MockEvent[]
      const happened = events.map((event) => {
        const service = state.services.resolve(event)
        requireEvent(event, service, version)
        return { service, happening: toHappening(event, clock.now()) }
      })
      const changes = happened.reduce((sum, { happening }) => sum + happening.layerIds.length, 0)
      if (changes > MAX_CHANGES)
        throw configInvalid(`at most ${MAX_CHANGES} changes can be triggered together`)
      const selected = new Map<string, Happening[]>()
      for (const { service, happening: what } of happened) {
        const happening = { ...what, generation: advance(service, what.layerIds.length) }
        for (const webhook of webhooks.list(service)) {
          if (!selects(webhook, happening.changeType)) continue
          const known = selected.get(webhook.id)
          if (known) known.push(happening)
          else selected.set(webhook.id, [happening])
        }
      }
      return selected
    },
    async notify(selection) {
      const notified = [...selection].map(([id, happenings]) => engine.notify(id, happenings))
      return (await Promise.all(notified)).flat()
    },
    restore,
    reset() {
      engine.clear()
      restore(seed)
    },
    save,
  }
}
