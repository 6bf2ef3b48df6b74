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

/** What happened to a webhook. */
export type WebhookChange = 'created' | 'edited' | 'deleted' | 'switched_off'

/** The webhooks of a mock service. What it gives out never changes: an edit makes a new object. */
export interface WebhookStore {
  /** In the order of their creation. */
  list(service?: Service): readonly Readonly<Webhook>[]
  /** Those of a service, without a list of them. */
  of(service: Service): Iterable<Readonly<Webhook>>
  get(id: string): Readonly<Webhook> | undefined
  /** The webhook of this service that bears the name. */
  named(service: Service, name: string): Readonly<Webhook> | undefined
  /** Ids are random, so none is given out again. */
  create(seed: WebhookSeed): Readonly<Webhook>
  /**
   * @param omitted what happens to that which `changes` leaves out; default `'keep'`. The name and the payload URL
   *   always stay.
   * @returns the webhook after the edit, or undefined where there is none
   */
  edit(
    id: string,
    changes: WebhookChanges,
    modifiedId: string,
    omitted?: 'keep' | 'reset',
  ): Readonly<Webhook> | undefined
  /** Its deliveries failed too often. */
  switchOff(id: string): void
  /** @returns whether there was one */
  delete(id: string): boolean
  /**
   * Puts these in place of all.
   *
   * @throws {WebhookError} `config_invalid` for an id or a name twice, or white space around a key; then nothing
   *   has changed
   */
  restore(seeds: readonly WebhookSeed[]): void
}

/** What {@link createWebhookStore} takes. */
export interface WebhookStoreOptions {
  now(): number
  onChange(change: WebhookChange, webhook: Readonly<Webhook>): void
}

/** Found by id, by service, and by service and name: no operation on one webhook looks at the others. */
interface Index {
  byId: Map<string, Readonly<Webhook>>
  byService: Map<string, Map<string, Readonly<Webhook>>>
  /** The id of each name. */
  byName: Map<string, string>
}

export function createWebhookStore({ now, onChange }: WebhookStoreOptions): WebhookStore {
  let index = emptyIndex()

  function replace(before: Readonly<Webhook>, changes: Partial<Webhook>): Readonly<Webhook> {
    // It moves with every edit, also within a millisecond.
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
      const webhook = toWebhook(structuredClone(seed), now())
      put(index, webhook)
      onChange('created', webhook)
      return webhook
    },
    edit(id, { scheduleInfo, ...changes }, modifiedId, omitted = 'keep') {
      const before = index.byId.get(id)
      if (!before) return undefined
      const kept = omitted === 'keep' ? before : { ...before, ...structuredClone(DEFAULTS) }
      const after = replace(before, {
        ...kept,
        ...structuredClone(changes),
        scheduleInfo: withSchedule(kept, structuredClone(scheduleInfo)),
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
      index = toIndex(seeds.map((seed) => toWebhook(structuredClone(seed), now())))
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

/** Setting a key that is there keeps its place, so lists stay in the order of creation. */
function put({ byId, byService, byName }: Index, webhook: Webhook): void {
  const path = servicePath(webhook)
  byId.set(webhook.id, Object.freeze(webhook))
  byService.set(path, (byService.get(path) ?? new Map()).set(webhook.id, webhook))
  byName.set(nameKey(webhook, webhook.name), webhook.id)
}

/** Paths hold no line break, so two keys are the same only for the same service and name. */
const nameKey = (service: Service, name: string): string => `${servicePath(service)}\n${name}`
