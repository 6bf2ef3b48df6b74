import { configInvalid } from '../../errors.ts'
import { type Service, servicePath } from './services.ts'
import {
  DEFAULTS,
  toWebhook,
  type Webhook,
  type WebhookChanges,
  type WebhookSeed,
  withSchedule,
} from './webhook.ts'

/** A kind of change of a webhook. */
export type WebhookChange = 'created' | 'edited' | 'deleted' | 'switched_off'

/** The webhooks of a mock service. They are immutable: an edit creates a new object. */
export interface WebhookStore {
  /** All webhooks, or those of a service, in the order of creation. */
  list(service?: Service): readonly Readonly<Webhook>[]
  /** Iterates over the webhooks of a service without copying them. */
  of(service: Service): Iterable<Readonly<Webhook>>
  get(id: string): Readonly<Webhook> | undefined
  /** Finds a webhook of a service by name. */
  named(service: Service, name: string): Readonly<Webhook> | undefined
  create(seed: WebhookSeed): Readonly<Webhook>
  /**
   * @param omitted whether fields left out of `changes` keep their values or get their defaults; default `'keep'`. The
   *   name and the payload URL are always kept.
   * @returns the edited webhook, or undefined if no webhook has the id
   */
  edit(
    id: string,
    changes: WebhookChanges,
    modifiedId: string,
    omitted?: 'keep' | 'reset',
  ): Readonly<Webhook> | undefined
  /** Deactivates a webhook whose deliveries failed too often. */
  switchOff(id: string): void
  /** @returns false if no webhook has the id */
  delete(id: string): boolean
  /**
   * Replaces all webhooks.
   *
   * @throws {WebhookError} `config_invalid` for a duplicate id or name, and changes nothing
   */
  restore(seeds: readonly WebhookSeed[]): void
}

/** Options of {@link createWebhookStore}. */
export interface WebhookStoreOptions {
  now(): number
  /** Default of `active` for an edit that resets omitted fields. */
  defaultActive: boolean
  /** Length of a window in seconds, for schedules without one. */
  windowSeconds: number
  onChange(change: WebhookChange, webhook: Readonly<Webhook>): void
}

/** Maps that let an operation find a webhook without iterating over all of them. */
interface Index {
  byId: Map<string, Readonly<Webhook>>
  byService: Map<string, Map<string, Readonly<Webhook>>>
  /** Ids by service and name. */
  byName: Map<string, string>
}

export function createWebhookStore(options: WebhookStoreOptions): WebhookStore {
  const { now, onChange, windowSeconds } = options
  const defaults = { ...DEFAULTS, active: options.defaultActive }
  let index = emptyIndex()

  const toStored = (seed: WebhookSeed): Webhook => toWebhook(structuredClone(seed), now(), windowSeconds)

  function replace(before: Readonly<Webhook>, changes: Partial<Webhook>): Readonly<Webhook> {
    // `modified` changes with every edit, even if two edits happen in the same millisecond.
    const after = { ...before, ...changes, modified: Math.max(now(), before.modified + 1) }
    index.byName.delete(nameKey(before, before.name))
    put(index, after)
    return after
  }

  return {
    list: (service) => [
      ...((service ? index.byService.get(servicePath(service)) : index.byId)?.values() ?? []),
    ],
    of: (service) => index.byService.get(servicePath(service))?.values() ?? [],
    get: (id) => index.byId.get(id),
    named: (service, name) => index.byId.get(index.byName.get(nameKey(service, name)) ?? ''),
    create(seed) {
      const webhook = toStored(seed)
      put(index, webhook)
      onChange('created', webhook)
      return webhook
    },
    edit(id, { scheduleInfo, ...changes }, modifiedId, omitted = 'keep') {
      const before = index.byId.get(id)
      if (!before) return undefined
      const kept = omitted === 'keep' ? before : { ...before, ...structuredClone(defaults) }
      const after = replace(before, {
        ...kept,
        ...structuredClone(changes),
        scheduleInfo: withSchedule(kept, windowSeconds, structuredClone(scheduleInfo)),
        modifiedId,
      })
      onChange('edited', after)
      return after
    },
    switchOff(id) {
      const before = index.byId.get(id)
      if (before?.active) onChange('switched_off', replace(before, { active: false }))
    },
    delete(id) {
      const webhook = index.byId.get(id)
      if (!webhook) return false
      index.byId.delete(id)
      index.byService.get(servicePath(webhook))?.delete(id)
      index.byName.delete(nameKey(webhook, webhook.name))
      onChange('deleted', webhook)
      return true
    },
    restore(seeds) {
      index = toIndex(seeds.map(toStored))
    },
  }
}

const emptyIndex = (): Index => ({ byId: new Map(), byService: new Map(), byName: new Map() })

/** @throws {WebhookError} `config_invalid` */
function toIndex(webhooks: readonly Webhook[]): Index {
  const index = emptyIndex()
  for (const webhook of webhooks) {
    const { id, name } = webhook
    if (index.byId.has(id)) throw configInvalid(`two webhooks have the id ${id}`)
    if (index.byName.has(nameKey(webhook, name)))
      throw configInvalid(`two webhooks of ${servicePath(webhook)} are named ${name}`)
    put(index, webhook)
  }
  return index
}

/** Adds or replaces a webhook. A replaced webhook keeps its position, so lists stay in the order of creation. */
function put({ byId, byService, byName }: Index, webhook: Webhook): void {
  const path = servicePath(webhook)
  byId.set(webhook.id, Object.freeze(webhook))
  byService.set(path, (byService.get(path) ?? new Map()).set(webhook.id, webhook))
  byName.set(nameKey(webhook, webhook.name), webhook.id)
}

/** Paths contain no line breaks, so the key is unique for a service and a name. */
const nameKey = (service: Service, name: string): string => `${servicePath(service)}\n${name}`
