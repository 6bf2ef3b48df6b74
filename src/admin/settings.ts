import { configInvalid } from '../errors.ts'
import { checkOptions, type OptionNames, wholeNumber } from '../options.ts'
import { isObject, type Json } from '../shared/json.ts'
import { toNumber } from './members.ts'
import type { Requester } from './request.ts'
import type { AdminSettings, Product } from './types.ts'
import { pathOfPortal } from './webhooks.ts'

type Names = Partial<Record<keyof AdminSettings, string>>

const SERVER: Names = {
  attempts: 'notificationAttempts',
  timeoutInSeconds: 'notificationTimeOutInSeconds',
  pauseInSeconds: 'notificationElapsedTimeInSeconds',
  numberOfFailures: 'numberOfFailures',
  daysInPast: 'daysInPast',
}

const PORTAL: Names = {
  attempts: 'notificationAttempts',
  timeoutInSeconds: 'notificationTimeOutInSeconds',
  pauseInSeconds: 'notificationElapsedTimeInSeconds',
}

/** ArcGIS Online calls the pause a timeout (docs/senders.md, "Delivery"). */
const ONLINE: Names = {
  attempts: 'notificationAttempts',
  pauseInSeconds: 'notificationTimeOutInSeconds',
  numberOfFailures: 'numberOfFailures',
}

const NAMES: Readonly<Record<Product, Names>> = {
  service: SERVER,
  enterprise: SERVER,
  online: ONLINE,
  portal: PORTAL,
}

const whole = wholeNumber(0, 100_000)
const RULES: OptionNames<AdminSettings> = {
  attempts: whole,
  timeoutInSeconds: whole,
  pauseInSeconds: whole,
  numberOfFailures: whole,
  daysInPast: whole,
}

export async function readSettings(requester: Requester): Promise<AdminSettings> {
  const answer = await requester.read(await pathOf(requester))
  const found: unknown = Array.isArray(answer) ? answer[0] : answer
  if (!isObject(found))
    throw requester.error('admin_malformed', { message: 'the response does not contain the settings' })
  // A documented name ends with a space.
  const values = new Map(Object.entries(found).map(([name, value]) => [name.trim(), toNumber(value)]))
  const entries = Object.entries(NAMES[requester.address.product]).map(([name, spelled]) => [
    name,
    values.get(spelled),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

async function pathOf(requester: Requester): Promise<string> {
  const { product } = requester.address
  if (product === 'portal') return `${await pathOfPortal(requester)}/settings`
  return product === 'online' ? '/WebHooks/webhookSettings' : '/services/webhooks/settings'
}

/** @throws {WebhookError} also `admin_unsupported`, `admin_not_applied`, `config_invalid` */
export async function editSettings(requester: Requester, changes: AdminSettings): Promise<AdminSettings> {
  if (!isObject(changes)) throw configInvalid('the settings must be an object')
  checkOptions(changes, RULES, 'setting')
  const names = NAMES[requester.address.product]
  const given = Object.entries(changes).filter(([, value]) => value !== undefined) as [
    keyof AdminSettings,
    number,
  ][]
  if (given.length === 0) throw configInvalid('there is no setting to change')
  const absent = given.map(([name]) => name).filter((name) => names[name] === undefined)
  if (absent.length > 0)
    throw requester.error('admin_unsupported', {
      message: `this product has no setting ${absent.join(', ')}`,
    })
  const differing = (settings: AdminSettings): string[] =>
    given.filter(([name, value]) => settings[name] !== value).map(([name]) => name)
  // Some products take a setting that is left out for its default.
  const before = await readSettings(requester)
  const all = Object.entries({ ...before, ...Object.fromEntries(given) } satisfies Json)
  const form = Object.fromEntries(
    all.map(([name, value]) => [names[name as keyof AdminSettings] ?? name, String(value)]),
  )
  const path = await pathOf(requester)
  await requester.change(requester.address.product === 'portal' ? `${path}/update` : path, form, async () => {
    return differing(await readSettings(requester)).length === 0
  })
  const after = await readSettings(requester)
  const different = differing(after)
  if (different.length === 0) return after
  throw requester.error('admin_not_applied', {
    message: `the service did not store as requested: ${different.join(', ')}`,
    hint: 'The service may allow other values only.',
  })
}
