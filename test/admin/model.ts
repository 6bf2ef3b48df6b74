import { isDeepStrictEqual } from 'node:util'
import type { Member, WebhookChanges } from 'geohook/admin'
import type { Webhook as Stored } from 'geohook/mock'
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
const secondsOf = ({ recurrenceInfo }: Schedule): number =>
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
