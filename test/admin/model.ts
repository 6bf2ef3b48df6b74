import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Member, NewWebhook, WebhookChanges } from 'geohook/admin'
import type { FaultSeed, Webhook as Stored } from 'geohook/mock'
import type { Product } from './support.ts'

/** What decides how an edit must end. */
export interface Setting {
  product: Product
  serviceType: Stored['serviceType']
  keys: 'shown' | 'hidden' | 'masked'
}

type Schedule = NonNullable<WebhookChanges['schedule']>
type Values = Partial<Record<Member, unknown>>

export const membersOf = ({ product, serviceType }: Setting): Member[] =>
  product === 'portal'
    ? ['name', 'hookUrl', 'changeTypes', 'key', 'active', 'deactivation', 'properties']
    : [
        ...(['name', 'hookUrl', 'changeTypes', 'key', 'active', 'contentType', 'payloadFormat'] as const),
        ...(serviceType === 'GPServer' ? [] : (['schedule'] as const)),
      ]

/** The stored values, by the client's names of the members. */
export function valuesOf(webhook: Stored, setting: Setting): Values {
  const { signatureKey, config, changeTypes } = webhook
  const values: Values = {
    ...webhook,
    key: signatureKey,
    changeTypes: changeTypes.map((name) => (name === '/' ? '*' : name)).sort(),
    schedule: scheduleOf(webhook, setting),
    deactivation: config?.deactivationPolicy,
    properties: config?.properties ?? {},
  }
  return Object.fromEntries(membersOf(setting).map((name) => [name, values[name]]))
}

/** Some products gather events for each webhook, and show a schedule even if none was set. */
function scheduleOf({ scheduleInfo, created }: Stored, { product }: Setting): Schedule {
  const seconds = { service: undefined, enterprise: 20, online: 30, portal: undefined }[product]
  const isDefault = seconds !== undefined && !('recurrenceInfo' in scheduleInfo)
  const recurrenceInfo = { interval: seconds ?? 0, frequency: 'second' as const }
  const schedule = isDefault
    ? { name: '', state: 'enabled' as const, startAt: created, recurrenceInfo }
    : scheduleInfo
  const { startAt, ...hosted } = schedule as Schedule
  return product === 'online' ? hosted : (schedule as Schedule)
}

/** Members that the product does not show of a stored webhook. */
export const hiddenMembers = ({ signatureKey }: Stored, { product, keys }: Setting): Member[] => [
  ...(product === 'online' ? (['contentType'] as const) : []),
  ...(keys === 'hidden' || (signatureKey === '' ? product === 'online' : keys === 'masked')
    ? (['key'] as const)
    : []),
]

/** What the webhook must be after an edit. */
export function wantedAfter(before: Values, { changeTypes, schedule, ...changes }: WebhookChanges): Values {
  return {
    ...before,
    ...changes,
    ...(changeTypes && { changeTypes: [...changeTypes].sort() }),
    ...(schedule && { schedule: { ...(before.schedule as Schedule), ...schedule } }),
  }
}

const UNITS = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
}
export const secondsOf = ({ recurrenceInfo }: Schedule): number =>
  recurrenceInfo ? recurrenceInfo.interval * UNITS[recurrenceInfo.frequency] : 0

/** Objects of fast-check have no prototype. */
const isEqual = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(structuredClone(one), structuredClone(other))

/** Compares the members that are wanted with those that are stored. */
/** @param old values before the change: a service that keeps an old time or a long interval has adjusted nothing */
export function compare(
  wanted: Values,
  stored: Values,
  old: Values = {},
): { adjusted: Member[]; different: Member[] } {
  const adjusted: Member[] = []
  const different: Member[] = []
  for (const name of Object.keys(wanted) as Member[]) {
    if (name === 'schedule') {
      const [now, before] = [stored.schedule as Schedule, (old.schedule ?? {}) as Schedule]
      const found = compareSchedules(wanted.schedule as Schedule, now)
      const { startAt = now.startAt } = wanted.schedule as Schedule
      const isKept =
        (now.startAt !== undefined && startAt !== now.startAt && before.startAt === now.startAt) ||
        (secondsOf(wanted.schedule as Schedule) !== secondsOf(now) &&
          secondsOf(before) === secondsOf(now) &&
          secondsOf(now) > 60)
      const relation = found === 'adjusted' && old.schedule && isKept ? 'different' : found
      if (relation) (relation === 'adjusted' ? adjusted : different).push(name)
    } else if (!isEqual(wanted[name], stored[name])) different.push(name)
  }
  return { adjusted, different }
}

/** A service may begin later, and may gather events for longer. */
function compareSchedules(wanted: Schedule, stored: Schedule): 'adjusted' | 'different' | undefined {
  const names = Object.keys(wanted) as (keyof Schedule)[]
  const differing = names.filter((name) => !isEqual(wanted[name], stored[name]))
  const isShorter = differing.includes('recurrenceInfo') && secondsOf(stored) < secondsOf(wanted)
  if (isShorter || differing.some((name) => name === 'name' || name === 'state')) return 'different'
  const isSame = differing.every(
    (name) => name === 'recurrenceInfo' && secondsOf(stored) === secondsOf(wanted),
  )
  return isSame ? undefined : 'adjusted'
}

/** Characters with a meaning in forms, URLs, JSON, HTML or SQL, and some outside of ASCII. */
export const text = (minLength: number, maxLength: number) =>
  fc
    .string({ unit: fc.constantFrom(...`abcXYZ 0189$&=+%;,"'\\/<>?#{}[]-_éß漢😀`), minLength, maxLength })
    .map((value) => value.trim())

const secret = fc
  .string({ unit: fc.constantFrom(...'abcdefGHIJKL0123456789-_'), minLength: 12, maxLength: 40 })
  .map((value) => `S3${value}`)
/** With a start and an end that no mask of a key has. A portal sends its key as a header. */
export const keyOf = (product: Product) =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constant('') },
    {
      weight: 4,
      arbitrary: text(4, 40)
        .map((value) => (product === 'portal' ? value.replace(/[^ -~]/gu, '~') : value))
        .map((value) => `Key7 ${value} end`),
    },
  )
const path = fc.constantFrom('', '/', '/a//b', '/%7Ea/./%2f', '/workflows/7f0e')
/** Tests replace `@` by the address of their server, because a portal asks a new payload URL whether it responds. */
const hookUrl = fc
  .tuple(fc.constantFrom('http://@', 'HTTP://@'), path, secret, secret)
  .map(([start, middle, one, other]) => `${start}/hook${middle}?api-version=1&code=${one}&sig=%2B${other}`)

const subset = (names: readonly string[]) =>
  fc.oneof(fc.constant(['*']), fc.subarray([...names], { minLength: 1 }))
const featureTypes = subset(['FeaturesCreated', 'FeaturesUpdated', 'FeaturesDeleted', 'AttachmentsCreated'])
const portalTypes = subset(['/items', '/items/add', '/groups', '/users/disable'])
const contentType = fc.constantFrom('application/json', 'application/x-www-form-urlencoded')
const payloadFormat = fc.constantFrom('json', 'pjson')
const frequency = fc.constantFrom('second', 'minute', 'hour', 'day', 'week', 'month', 'year')
const scheduleMembers = {
  name: text(0, 20),
  state: fc.constantFrom('enabled', 'disabled'),
  startAt: fc.integer({ min: 0, max: 2 ** 45 }),
  recurrenceInfo: fc.record({ interval: fc.integer({ min: 1, max: 90 }), frequency }),
}
const number = fc.integer({ min: 1, max: 100 })
const deactivation = fc.record({ numberOfFailures: number, daysInPast: number })
const properties = fc
  .tuple(
    fc.dictionary(fc.constantFrom('notebook', 'a', 'b'), fc.oneof(text(0, 9), fc.boolean())),
    fc.oneof(fc.constantFrom(undefined, ''), secret),
  )
  .map(([others, token]) => (token === undefined ? others : { ...others, token }))

export const name = text(1, 40).map((value) => `n ${value}`.trim())

export const changesOf = ({ product, serviceType }: Pick<Setting, 'product' | 'serviceType'>) => {
  const shared = { name, hookUrl, key: keyOf(product), active: fc.boolean() }
  const onServer = { ...shared, contentType, payloadFormat }
  const members: Record<string, fc.Arbitrary<unknown>> = product === 'portal'
    ? { ...shared, changeTypes: portalTypes, deactivation, properties }
    : serviceType === 'GPServer'
      ? { ...onServer, changeTypes: fc.constant(['*']) }
      : {
          ...onServer,
          changeTypes: featureTypes,
          schedule: fc.record(scheduleMembers, { requiredKeys: [] }),
        }
  return {
    some: fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<WebhookChanges>,
    // A portal refuses properties without a policy.
    named: (
      fc.record(members, { requiredKeys: ['name', 'hookUrl'] }) as unknown as fc.Arbitrary<NewWebhook>
    ).map(({ properties, ...others }) =>
      others.deactivation && properties ? { ...others, properties } : others,
    ),
    all: fc.record(members) as unknown as fc.Arbitrary<Required<WebhookChanges>>,
  }
}

/** Other forms in which a service stores or shows what was requested. */
export const faults: fc.Arbitrary<FaultSeed[]> = fc.subarray<FaultSeed>([
  { fault: 'interval_raised', times: 1 },
  { fault: 'change_types_reordered', times: 2 },
  { fault: 'wildcard_as_all', times: 3 },
])
