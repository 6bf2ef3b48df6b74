import { configInvalid } from '../errors.ts'
import { type ChangeType, POST_PERFORMED, subscriptionsOf, WILDCARD } from '../payload/change-types.ts'
import { check, eventSchema } from './schemas.ts'
import type { Service, ServiceReference } from './services.ts'
import { has, type ServiceVersion } from './versions.ts'
import type { Webhook } from './webhook.ts'

/** Something that happens on a service. */
export interface MockEvent extends ServiceReference {
  /** What happened, for example `'FeaturesCreated'` or `'esriJobSucceeded'`. */
  changeType: ChangeType
  /** Milliseconds since 1970. Default: now. */
  when?: number | undefined
  /** The layers that changed, for hosted payloads and for `fanOut: 'layer'`. Default `[0]`. */
  layerIds?: readonly number[] | undefined
  /** Geoprocessing only. Default: a new one for each event. */
  jobId?: string | undefined
  /** Geoprocessing only. Default `'Task'`. */
  taskName?: string | undefined
}

/** An event at its time, on a layer, as a webhook gathers it. */
export interface Happening {
  changeType: string
  when: number
  layerId: number
  jobId?: string | undefined
  taskName?: string | undefined
}

/** @throws {WebhookError} `config_invalid` for an event that cannot happen on this service */
export function requireEvent(event: MockEvent, service: Service, version: ServiceVersion): void {
  check(eventSchema, event, 'event')
  const { changeType } = event
  if (changeType === WILDCARD) throw configInvalid('changeType says what happened; * is for subscriptions')
  if (changeType === POST_PERFORMED && !has(version, 'post'))
    throw configInvalid(`${POST_PERFORMED} comes with version 11.3; this service has ${version}`)
  if (service.serviceType === 'FeatureServer' && changeType.startsWith('esriJob'))
    throw configInvalid(`${changeType} is the end of a job; ${service.serviceName} is a feature service`)
}

/** One happening for each layer. */
export function toHappenings(event: MockEvent, now: number): Happening[] {
  const { changeType, when = now, layerIds = [0], jobId, taskName } = event
  return layerIds.map((layerId) => ({ changeType, when, layerId, jobId, taskName }))
}

/** Whether a webhook is subscribed to it, by its name, a composite or the wildcard (specification, "Events"). */
export function selects({ active, changeTypes }: Readonly<Webhook>, changeType: string): boolean {
  const names = subscriptionsOf(changeType)
  return active && changeTypes.some((name) => names.includes(name))
}
