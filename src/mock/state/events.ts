import { randomUUID } from 'node:crypto'
import { configInvalid } from '../../errors.ts'
import {
  type ChangeType,
  FEATURE_CHANGE_TYPES,
  POST_PERFORMED,
  subscriptionsOf,
  WILDCARD,
} from '../../payload/change-types.ts'
import { check, eventSchema, MAX_CHANGE_TYPE } from '../schemas.ts'
import { has, type ServiceVersion } from '../versions.ts'
import type { Service, ServiceReference } from './services.ts'
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

/** Events that can be triggered together; the changes of all their layers count. */
export const MAX_TRIGGERED = 1000
export const MAX_CHANGES = 10_000

/** An event at its time, as webhooks gather it. */
export interface Happening {
  changeType: string
  /** Under which webhooks are subscribed to it. */
  names: readonly string[]
  when: number
  /** Each once. */
  layerIds: readonly number[]
  /** The state of the service before it; each layer's change makes one more. The same for every webhook. */
  generation: number
  /** The end of a job is the same job for every webhook; changes of features have none. */
  jobId?: string | undefined
  taskName?: string | undefined
}

const FEATURE_NAMES: readonly string[] = FEATURE_CHANGE_TYPES

/**
 * Most hold nothing but names, and the schema would take a twentieth of the time of their deliveries: the service is found
 * by three of these as they are, or not at all.
 *
 * @throws {WebhookError} `config_invalid` for what is no event
 */
export function requireEvent(event: MockEvent): void {
  if (!isShort(event)) check(eventSchema, event, 'event')
}

const NAMES = ['folderName', 'serviceName', 'serviceType', 'changeType']

/** It sees what the schema sees: also what is inherited, and what is not listed. */
function isShort(event: MockEvent): boolean {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return false
  for (const member in event) if (!NAMES.includes(member)) return false
  const { folderName = '', serviceName, serviceType = '', changeType } = event
  const { when, layerIds, jobId, taskName } = event
  return (
    typeof folderName === 'string' &&
    typeof serviceName === 'string' &&
    typeof serviceType === 'string' &&
    typeof changeType === 'string' &&
    changeType.length > 0 &&
    changeType.length <= MAX_CHANGE_TYPE &&
    when === undefined &&
    layerIds === undefined &&
    jobId === undefined &&
    taskName === undefined
  )
}

/** @throws {WebhookError} `config_invalid` for an event that cannot happen on this service */
export function requirePossible(
  { changeType }: MockEvent,
  { serviceName, serviceType }: Service,
  version: ServiceVersion,
): void {
  // No payload can be written of it; in a window it would spoil all that was gathered.
  if (changeType.trim() !== changeType) throw configInvalid('changeType has white space around it')
  if (changeType === WILDCARD) throw configInvalid('changeType says what happened; * is for subscriptions')
  if (changeType === POST_PERFORMED && !has(version, 'post'))
    throw configInvalid(`${POST_PERFORMED} comes with version 11.3; this service has ${version}`)
  if (serviceType === 'FeatureServer' && changeType.startsWith('esriJob'))
    throw configInvalid(`${changeType} is the end of a job; ${serviceName} is a feature service`)
  if (serviceType === 'GPServer' && FEATURE_NAMES.includes(changeType))
    throw configInvalid(
      `${changeType} happens on feature services; ${serviceName} is a geoprocessing service`,
    )
}

/** The generation comes when all events are known to be right. */
export function toHappening(event: MockEvent, { serviceType }: Service, now: number): Happening {
  const { changeType, when = now, layerIds, taskName } = event
  const jobId = serviceType === 'GPServer' ? (event.jobId ?? randomUUID()) : undefined
  return {
    changeType,
    names: subscriptionsOf(changeType),
    when,
    layerIds: layerIds ? [...new Set(layerIds)] : [0],
    generation: 0,
    jobId,
    taskName,
  }
}

/** Whether a webhook is subscribed to it, by its name, a composite or the wildcard (specification, "Events"). */
export const selects = ({ active, changeTypes }: Readonly<Webhook>, { names }: Happening): boolean =>
  active && changeTypes.some((name) => names.includes(name))
