import { randomUUID } from 'node:crypto'
import { configInvalid } from '../../errors.ts'
import {
  type ChangeType,
  FEATURE_CHANGE_TYPES,
  POST_PERFORMED,
  subscriptionsOf,
  WILDCARD,
} from '../../payload/events.ts'
import { has, type ServiceVersion } from '../versions.ts'
import {
  type PortalOperation,
  portalSubscriptionsOf,
  type Service,
  type ServiceReference,
  toPortalOperation,
} from './services.ts'
import type { Webhook } from './webhooks.ts'

/** An event to trigger on a service. */
export interface MockEvent extends ServiceReference {
  /** For example `'FeaturesCreated'`, `'esriJobSucceeded'`, or `'/items/<id>/update'` on a portal. */
  changeType: ChangeType
  /** Milliseconds since 1970. Default: now. */
  when?: number | undefined
  /** The layers that changed, for hosted payloads and for `fanOut: 'layer'`. Default `[0]`. */
  layerIds?: readonly number[] | undefined
  /** Geoprocessing only. Default: a new id for each event. */
  jobId?: string | undefined
  /** Geoprocessing only. Default `'Task'`. */
  taskName?: string | undefined
}

/** Maximum number of events in one call. */
export const MAX_TRIGGERED = 1000
/** Maximum number of changes in one call. An event on several layers counts as one change per layer. */
export const MAX_CHANGES = 10_000

/** An event with its defaults, from which payloads are written. */
export interface ServiceEvent {
  changeType: string
  /** A webhook receives the event if it subscribes to any of these change types. */
  subscriptions: readonly string[]
  when: number
  /** Without duplicates. */
  layerIds: readonly number[]
  /** Generation of the service before the event, the same for every webhook. Each layer of the event adds one. */
  generation: number
  /** The same for every webhook; undefined for feature services. */
  jobId?: string | undefined
  taskName?: string | undefined
  /** The operation on an object of a portal; undefined for services. */
  operation?: PortalOperation | undefined
}

const FEATURE_NAMES: readonly string[] = FEATURE_CHANGE_TYPES

/** @throws {WebhookError} `config_invalid` for an event that is impossible on this service */
export function requirePossible(
  { changeType }: MockEvent,
  { serviceName, serviceType }: Service,
  version: ServiceVersion,
): void {
  // `createPayload` throws for white space and the wildcard. All events of the same window would then be lost.
  if (changeType.trim() !== changeType) throw configInvalid('changeType has white space around it')
  if (changeType === WILDCARD) throw configInvalid('changeType says what happened; * is for subscriptions')
  if (changeType === POST_PERFORMED && !has(version, 'post'))
    throw configInvalid(`${POST_PERFORMED} comes with version 11.3; this service has ${version}`)
  if (serviceType === 'Portal' && !toPortalOperation(changeType))
    throw configInvalid(
      `${changeType} is not an operation on a portal: use /items/add or /items/<id>/<operation>, also of groups and users`,
    )
  if (serviceType === 'FeatureServer' && changeType.startsWith('esriJob'))
    throw configInvalid(`${changeType} is the end of a job; ${serviceName} is a feature service`)
  if (serviceType === 'GPServer' && FEATURE_NAMES.includes(changeType))
    throw configInvalid(
      `${changeType} happens on feature services; ${serviceName} is a geoprocessing service`,
    )
}

/** Adds defaults to an event. The generation is set later, when all events of the call have been validated. */
export function toServiceEvent(event: MockEvent, { serviceType }: Service, now: number): ServiceEvent {
  const { changeType, when = now, layerIds, taskName } = event
  const isPortal = serviceType === 'Portal'
  const jobId = serviceType === 'GPServer' ? (event.jobId ?? randomUUID()) : undefined
  return {
    changeType,
    subscriptions: isPortal ? portalSubscriptionsOf(changeType) : subscriptionsOf(changeType),
    when,
    layerIds: layerIds ? [...new Set(layerIds)] : [0],
    generation: 0,
    jobId,
    taskName,
    operation: isPortal ? toPortalOperation(changeType) : undefined,
  }
}

/**
 * True if the webhook is active and subscribes to the event: by its change type, by `FeaturesEdited` for created, updated
 * and deleted features, or by the wildcard (docs/senders.md, "Change types").
 */
export const selects = (
  { active, changeTypes }: Readonly<Webhook>,
  { subscriptions }: ServiceEvent,
): boolean => active && changeTypes.some((name) => subscriptions.includes(name))
