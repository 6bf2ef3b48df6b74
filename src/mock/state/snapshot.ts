import type { DeliverySettings } from '../delivery-settings.ts'
import { checkSnapshot } from '../schemas.ts'
import { defined } from '../without-undefined.ts'
import type { FailureLog, FailureRecord } from './failures.ts'
import type { Service, ServiceRegistry, ServiceSeed } from './services.ts'
import type { Webhook, WebhookSeed } from './webhook.ts'
import type { WebhookStore } from './webhooks.ts'

/** All that a mock service keeps, with the keys of its webhooks. */
export interface Snapshot {
  services: Service[]
  webhooks: Webhook[]
  settings: DeliverySettings
  failures: FailureRecord[]
}

/** What a mock service can be set to: a snapshot, or a part of one written by hand. What is not given is empty, or has its default. */
export interface SnapshotSeed {
  services?: readonly ServiceSeed[] | undefined
  webhooks?: readonly WebhookSeed[] | undefined
  settings?: Partial<DeliverySettings> | undefined
  failures?: readonly FailureRecord[] | undefined
}

/** What a mock service keeps. */
export interface State {
  readonly services: ServiceRegistry
  readonly webhooks: WebhookStore
  readonly failures: FailureLog
  settings: DeliverySettings
}

/** Copies, so that whoever gets them may change them. */
export const toSnapshot = ({ services, webhooks, settings, failures }: State): Snapshot =>
  structuredClone({
    services: services.list(),
    webhooks: webhooks.list() as Webhook[],
    settings,
    failures: failures.all(),
  })

/**
 * @throws {WebhookError} `config_invalid`; then nothing has changed
 */
export function restoreSnapshot(state: State, seed: SnapshotSeed, defaults: DeliverySettings): void {
  checkSnapshot(seed, 'snapshot')
  const { services = [], webhooks = [], settings = {}, failures = [] } = seed
  state.webhooks.restore(webhooks)
  state.services.restore([...services, ...webhooks])
  state.failures.restore(failures)
  state.settings = { ...defaults, ...defined(settings) }
}
