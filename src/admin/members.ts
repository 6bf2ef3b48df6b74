import { WILDCARD } from '../payload/events.ts'
import { secondsOf } from '../shared/client.ts'
import { isObject, type Json, tryJson } from '../shared/json.ts'
import { HIDDEN, isSecretMember } from '../shared/redact.ts'
import { maskUrl } from '../shared/url-secrets.ts'
import { serviceIn } from './address.ts'
import type { Deactivation, Member, Product, Schedule, Webhook, WebhookChanges } from './types.ts'

/** Values of members of a webhook, by name. */
export type Values = { [name in Member]?: WebhookChanges[name] | undefined }

type Spellings = { readonly [name in Member]?: string }

const SHARED: Spellings = {
  name: 'name',
  hookUrl: 'hookUrl',
  changeTypes: 'changeTypes',
  key: 'signatureKey',
  active: 'active',
  contentType: 'contentType',
  payloadFormat: 'payloadFormat',
  schedule: 'scheduleInfo',
}

/** The members of each product that can be set, as its responses spell them. */
const SPELLINGS: Readonly<Record<Product, Spellings>> = {
  service: SHARED,
  enterprise: SHARED,
  online: { ...SHARED, payloadFormat: 'format' },
  portal: {
    name: 'name',
    hookUrl: 'payloadUrl',
    changeTypes: 'events',
    key: 'secret',
    active: 'isActive',
    deactivation: 'config',
    properties: 'config',
  },
}

/** Returns the names of the members that can be set. */
export function membersOf(product: Product, service: string): Member[] {
  const names = Object.keys(SPELLINGS[product]) as Member[]
  return service.endsWith('.GPServer') ? names.filter((name) => name !== 'schedule') : names
}

/** Reads the value of each member from a response; `undefined` for members that it does not show. */
const READERS: Readonly<Record<Member, (value: unknown, product: Product) => unknown>> = {
  name: toText,
  hookUrl: toText,
  contentType: toText,
  payloadFormat: toText,
  active: toBoolean,
  changeTypes: readChangeTypes,
  // ArcGIS Online does not document whether an empty key means that the webhook has no key, or that it is hidden (docs/senders.md).
  key: (value, product) => (isHiddenKey(value) || (value === '' && product === 'online') ? undefined : value),
  schedule: readSchedule,
  deactivation: readDeactivation,
  properties: readProperties,
}

/** Reads a response. @param service to which the webhook belongs, if the response does not say it */
export function readWebhook(raw: Json, product: Product, service: string): Webhook {
  const place = product === 'portal' ? '' : (serviceOf(raw) ?? service)
  const spellings = SPELLINGS[product]
  const values = Object.fromEntries(
    membersOf(product, place).map((name) => [name, READERS[name](raw[spellings[name] ?? name], product)]),
  )
  return hideSecrets({
    product,
    id: String(raw.id ?? raw.globalId),
    service: place,
    ...values,
    name: toText(raw.name) ?? '',
    created: toDate(raw.created ?? raw.createdTime),
    modified: toDate(raw.modified ?? raw.lastUpdatedTime),
    owner: toText(raw.ownerId ?? raw.owner),
    raw,
  } as Webhook)
}

/** Makes `JSON.stringify` and `console.log` show no secret of a webhook. Copies with `{...webhook}` lose this. */
function hideSecrets(webhook: Webhook): Webhook {
  const value = () => showWebhook(webhook)
  const hidden = { value, enumerable: false }
  return Object.defineProperties(webhook, {
    toJSON: hidden,
    [Symbol.for('nodejs.util.inspect.custom')]: hidden,
  })
}

/**
 * Returns a webhook as it may be printed: without `raw`, with `***` in place of the key and of the secret parts of the
 * payload URL.
 *
 * @param showsUrl whether the payload URL is shown whole. Default false
 *
 * @example
 * ```ts
 * import { createAdmin, showWebhook } from 'geohook/admin'
 *
 * const admin = createAdmin({ url: 'https://gis.example.com/server', token: 'a-token' })
 * const webhook = await admin.service('Parcels.FeatureServer').get('edits')
 * console.log(showWebhook(webhook, true))
 * ```
 */
export function showWebhook({ raw: _, ...webhook }: Webhook, showsUrl = false): Json {
  const { hookUrl, key } = webhook
  return {
    ...webhook,
    ...('properties' in webhook ? { properties: hideMembers(webhook.properties) } : {}),
    hookUrl: hookUrl === undefined || showsUrl ? hookUrl : maskUrl(hookUrl),
    key: key ? HIDDEN : key,
  }
}

/** Hides, at any depth, members whose names are those of secrets, and the secret parts of URLs. */
function hideMembers(value: unknown): unknown {
  if (typeof value === 'string') return /^https?:/i.test(value) ? maskUrl(value) : value
  if (Array.isArray(value)) return value.map(hideMembers)
  if (!isObject(value)) return value
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([name, member]) => [name, isSecretMember(name) && member ? HIDDEN : hideMembers(member)]),
  )
}

/** Service responses name the service in three members, those of ArcGIS Online by its address. */
function serviceOf({ folderName, serviceName, serviceType, serviceUrl }: Json): string | undefined {
  if (typeof serviceName === 'string' && typeof serviceType === 'string')
    return `${folderName && folderName !== '/' ? `${folderName}/` : ''}${serviceName}.${serviceType}`
  return URL.canParse(String(serviceUrl)) ? serviceIn(new URL(String(serviceUrl)).pathname) : undefined
}

export function toText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Some services write booleans and numbers as text. */
export function toBoolean(value: unknown): boolean | undefined {
  const text = String(value).toLowerCase()
  return /^(?:true|1)$/.test(text) ? true : /^(?:false|0)$/.test(text) ? false : undefined
}

export const toNumber = (value: unknown): number | undefined =>
  (typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')) &&
  Number.isFinite(Number(value))
    ? Number(value)
    : undefined

/** Reads milliseconds since 1970, or a date as text; without a time zone, it is in UTC. */
export function toDate(value: unknown): Date | undefined {
  const text = String(value).replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)$/, '$1T$2Z')
  const date = new Date(toNumber(value) ?? (typeof value === 'string' ? text : Number.NaN))
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** Reads change types in the common form: without duplicates, and `*` alone if it is one of them. */
export function readChangeTypes(value: unknown): string[] | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  const names = text === '' ? value : text.startsWith('[') ? tryJson(text) : text.split(',')
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) return undefined
  const types = [...new Set(names.map((name) => name.trim()))]
  // The products write the subscription to every event in three ways.
  return types.some((name) => /^(?:\*|all|\/)$/i.test(name)) ? [WILDCARD] : types
}

/** Values in another form stay as they are, so that an edit sends them back. */
function readSchedule(value: unknown): Schedule | undefined {
  const schedule = toObject(value)
  if (!schedule) return undefined
  const { startAt, recurrenceInfo, ...others } = schedule
  const start = startAt === undefined ? {} : { startAt: toNumber(startAt) ?? startAt }
  if (!isObject(recurrenceInfo)) return { ...others, ...start } as Schedule
  const interval = toNumber(recurrenceInfo.interval) ?? recurrenceInfo.interval
  return { ...others, ...start, recurrenceInfo: { ...recurrenceInfo, interval } } as Schedule
}

/** Some services write objects as text. */
function toObject(value: unknown): Json | undefined {
  const object = typeof value === 'string' ? tryJson(value) : value
  return isObject(object) ? object : undefined
}

function readDeactivation(value: unknown): Deactivation | undefined {
  const policy = toObject(value)?.deactivationPolicy
  if (!isObject(policy)) return undefined
  const [numberOfFailures, daysInPast] = [toNumber(policy.numberOfFailures), toNumber(policy.daysInPast)]
  if (numberOfFailures === undefined || daysInPast === undefined) return undefined
  return { numberOfFailures, daysInPast }
}

function readProperties(value: unknown): Json | undefined {
  const config = toObject(value)
  return config && (isObject(config.properties) ? config.properties : {})
}

/** Masks in place of a value, such as `****1f2e`, `s3c…1f2e`, `<hidden>` or `xxxxxxxx`. */
const MASK =
  /^[^\p{L}\p{N}]+$|\*{2}|[•●]{2}|…|\.{3}|^<.*>$|^\[.*\]$|^\(.*\)$|^(.)\1{3,}$|^[x#*_-]{4}|[x#*_-]{4}$/iu
const MASK_WORD =
  /^(?:hidden|masked|redacted|removed|protected|confidential|encrypted|secret|not shown|null|none|undefined)$/i

/**
 * Returns true if a service does not show a webhook's key: the member is missing, or is a mask. An empty key counts as
 * shown, because it means that the webhook has no key.
 */
const isHiddenKey = (key: unknown): boolean =>
  typeof key !== 'string' || MASK.test(key) || MASK_WORD.test(key)

/** Returns the values of the members that can be set. */
export const valuesOf = (webhook: Webhook): Values =>
  Object.fromEntries(
    membersOf(webhook.product, webhook.service).map((name) => [name, (webhook as Values)[name]]),
  )

/** Creates the parameters that set values. Members without a value are left out. */
export function toForm(product: Product, values: Values, raw: Json = {}): Record<string, string> {
  const parameters = product === 'portal' ? toPortalParameters(values, raw) : values
  const form: Record<string, string> = {}
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) form[SHARED[name as Member] ?? name] = toParameter(value)
  return form
}

const toParameter = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

/** A portal takes change types as a choice between all and some, and its two other members in one object. */
function toPortalParameters(values: Values, raw: Json): Json {
  const { name, hookUrl, key, changeTypes, deactivation, properties } = values
  const isAll = changeTypes?.includes(WILDCARD)
  const config = {
    ...toObject(raw.config),
    ...(deactivation && { deactivationPolicy: deactivation }),
    ...(properties && { properties }),
  }
  return {
    name,
    url: hookUrl,
    secret: key,
    changes: changeTypes && (isAll ? 'allChanges' : 'manualChanges'),
    events: isAll ? undefined : changeTypes?.join(','),
    config: Object.keys(config).length > 0 ? config : undefined,
  }
}

const withoutUndefined = <Given extends object>(given: Given): Given =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given

/** Lays changes over values. A schedule keeps the members that are not given. */
export function layOver(values: Values, changes: WebhookChanges): Values {
  const given = withoutUndefined(changes)
  if (!changes.schedule) return { ...values, ...given }
  const { recurrenceInfo, ...others } = withoutUndefined(changes.schedule)
  const { recurrenceInfo: before, ...kept } = values.schedule ?? {}
  const recurrence = { ...before, ...withoutUndefined(recurrenceInfo ?? {}) } as Schedule['recurrenceInfo']
  const schedule = { ...kept, ...others, ...(before || recurrenceInfo ? { recurrenceInfo: recurrence } : {}) }
  return { ...values, ...given, schedule: schedule as Schedule }
}

/** How a stored value relates to the wanted one. `adjusted`: another form of it. */
export type Relation = 'same' | 'adjusted' | 'different'

/** @param wanted a schedule may lack members that the stored one has */
export function relate(member: Member, wanted: unknown, stored: unknown): Relation {
  if (toComparable(member, wanted) === toComparable(member, stored)) return 'same'
  if (member === 'hookUrl') return hrefOf(wanted) === hrefOf(stored) ? 'adjusted' : 'different'
  if (member !== 'schedule') return 'different'
  const { startAt, recurrenceInfo, ...others } = (wanted ?? {}) as Schedule
  const found = stored as Schedule
  const isKept = Object.entries(others).every(([name, value]) => found[name as keyof Schedule] === value)
  const [least, seconds] = [secondsOf(recurrenceInfo), secondsOf(found.recurrenceInfo)]
  if (!isKept || seconds < least) return 'different'
  const isExact = (startAt ?? found.startAt) === found.startAt && (!recurrenceInfo || seconds === least)
  return isExact ? 'same' : 'adjusted'
}

const hrefOf = (url: unknown): string => (URL.canParse(String(url)) ? new URL(String(url)).href : String(url))

export const toComparable = (member: Member, value: unknown): string =>
  JSON.stringify(member === 'changeTypes' && Array.isArray(value) ? [...value].sort() : sorted(value)) ?? ''

/** Sorts the members of objects, because services do not keep their order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]))
}

/** A value as an error may contain it. */
export function showValue(member: Member, value: unknown): string {
  if (value === undefined) return 'not shown'
  if (member === 'key') return value === '' ? 'none' : HIDDEN
  return member === 'hookUrl' ? maskUrl(String(value)) : toParameter(hideMembers(value))
}
