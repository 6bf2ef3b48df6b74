import type { DeliverySettings } from '../delivery-settings.ts'
import { checkSnapshot } from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'
import type { FailureLog, FailureRecord } from './failures.ts'
import type { HandshakeLog, HandshakeRecord } from './handshakes.ts'
import { requireOnePortal, type Service, type ServiceRegistry, type ServiceSeed } from './services.ts'
import type { Webhook, WebhookSeed } from './webhook.ts'
import type { WebhookStore } from './webhooks.ts'

/** The state of a mock service, including the keys of its webhooks. */
export interface Snapshot {
  services: Service[]
  webhooks: Webhook[]
  settings: DeliverySettings
  failures: FailureRecord[]
  handshakes: HandshakeRecord[]
}

/** A full or partial snapshot. Members left out are empty or have their defaults. */
export interface SnapshotSeed {
  services?: readonly ServiceSeed[] | undefined
  webhooks?: readonly WebhookSeed[] | undefined
  settings?: Partial<DeliverySettings> | undefined
  failures?: readonly FailureRecord[] | undefined
  handshakes?: readonly HandshakeRecord[] | undefined
}

/** The stores of a mock service. */
export interface State {
  readonly services: ServiceRegistry
  readonly webhooks: WebhookStore
  readonly failures: FailureLog
  readonly handshakes: HandshakeLog
  settings: DeliverySettings
}

/** Returns deep copies, which callers may change. */
export const toSnapshot = ({ services, webhooks, settings, failures, handshakes }: State): Snapshot =>
  structuredClone({
    services: services.list(),
    webhooks: webhooks.list() as Webhook[],
    settings,
    failures: failures.all(),
    handshakes: handshakes.all(),
  })

/** @throws {WebhookError} `config_invalid` if the snapshot is invalid; nothing is changed then */
export function restoreSnapshot(state: State, seed: SnapshotSeed, defaults: DeliverySettings): void {
  checkSnapshot(seed, 'snapshot')
  const { services = [], webhooks = [], settings = {}, failures = [], handshakes = [] } = seed
  requireOnePortal([...services, ...webhooks])
  state.webhooks.restore(webhooks)
  state.services.restore([...services, ...webhooks])
  state.failures.restore(failures)
  state.handshakes.restore(handshakes)
  state.settings = { ...defaults, ...withoutUndefined(settings) }
}
