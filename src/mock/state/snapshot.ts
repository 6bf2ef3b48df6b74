import type { DeliverySettings } from '../delivery-settings.ts'
import type { FeatureStore } from '../features/feature-data.ts'
import type { ServiceDataSnapshot } from '../features/layer-data.ts'
import { checkSnapshot, withoutUndefined } from '../schemas.ts'
import type { FailureRecord, HandshakeRecord } from './records.ts'
import { requireOnePortal, type Service, type ServiceRegistry, type ServiceSeed } from './services.ts'
import type { Webhook, WebhookSeed, WebhookStore } from './webhooks.ts'

/** The state of a mock service, including the keys of its webhooks. */
export interface Snapshot {
  services: Service[]
  webhooks: Webhook[]
  settings: DeliverySettings
  failures: FailureRecord[]
  handshakes: HandshakeRecord[]
  /** Layers, features and histories of feature services. Absent if no service has data of its own. */
  featureData?: ServiceDataSnapshot[]
}

/** A full or partial snapshot. Members left out are empty or have their defaults. */
export interface SnapshotSeed {
  services?: readonly ServiceSeed[] | undefined
  webhooks?: readonly WebhookSeed[] | undefined
  settings?: Partial<DeliverySettings> | undefined
  failures?: readonly FailureRecord[] | undefined
  handshakes?: readonly HandshakeRecord[] | undefined
  featureData?: readonly ServiceDataSnapshot[] | undefined
}

/** The stores of a mock service. */
export interface State {
  readonly services: ServiceRegistry
  readonly webhooks: WebhookStore
  /** Times of the failed deliveries by webhook id, oldest first. */
  failures: Map<string, readonly number[]>
  /** The last handshakes by webhook id. Webhooks without one, and those that must repeat it, are missing. */
  handshakes: Map<string, Readonly<HandshakeRecord>>
  readonly features: FeatureStore
  settings: DeliverySettings
}

/** Returns deep copies, which callers may change. */
export function toSnapshot(state: State): Snapshot {
  const { services, webhooks, settings, failures, handshakes } = state
  const featureData = state.features.snapshot()
  return structuredClone({
    services: services.list(),
    webhooks: webhooks.list() as Webhook[],
    settings,
    failures: [...failures].map(([webhookId, times]) => ({ webhookId, times: [...times] })),
    handshakes: [...handshakes.values()],
    ...(featureData.length === 0 ? {} : { featureData }),
  })
}

/** @throws {WebhookError} `config_invalid` if the snapshot is invalid; nothing is changed then */
export function restoreSnapshot(state: State, seed: SnapshotSeed, defaults: DeliverySettings): void {
  checkSnapshot(seed, 'snapshot')
  const { services = [], webhooks = [], settings = {} } = seed
  const { failures = [], handshakes = [], featureData = [] } = seed
  requireOnePortal([...services, ...webhooks])
  const withData = featureData.map(({ folderName, serviceName }): ServiceSeed => {
    return { folderName, serviceName, serviceType: 'FeatureServer' }
  })
  const restoreFeatures = state.features.prepare(services, featureData)
  state.webhooks.restore(webhooks)
  state.services.restore([...services, ...webhooks, ...withData])
  restoreFeatures()
  state.failures = new Map(failures.map(({ webhookId, times }) => [webhookId, [...times]]))
  state.handshakes = new Map(handshakes.map((record) => [record.webhookId, { ...record }]))
  state.settings = { ...defaults, ...withoutUndefined(settings) }
}
