import { configInvalid } from '../errors.ts'
import { checkOptions, type OptionNames, wholeNumber } from '../options.ts'
import { isObject } from '../shared/json.ts'
import { toNumber } from './members.ts'
import type { Requester } from './request.ts'
import type { DeliverySettings, Product } from './types.ts'
import { pathOfPortal } from './webhooks.ts'

type Names = Partial<Record<keyof DeliverySettings, string>>

const SERVER = {
  attempts: 'notificationAttempts',
  timeoutInSeconds: 'notificationTimeOutInSeconds',
  pauseInSeconds: 'notificationElapsedTimeInSeconds',
  numberOfFailures: 'numberOfFailures',
  daysInPast: 'daysInPast',
}

/** The settings of a product, as it spells them. */
function namesOf(product: Product): Names {
  const { numberOfFailures, daysInPast, ...delivery } = SERVER
  if (product === 'portal') return delivery
  if (product !== 'online') return SERVER
  // ArcGIS Online calls the pause a timeout (docs/senders.md, "Delivery").
  return { attempts: SERVER.attempts, pauseInSeconds: SERVER.timeoutInSeconds, numberOfFailures }
}

const RULES = Object.fromEntries(
  Object.keys(SERVER).map((name) => [name, wholeNumber(0, 100_000)]),
) as OptionNames<DeliverySettings>

export async function readSettings(requester: Requester): Promise<DeliverySettings> {
  const answer = await requester.read(await pathOf(requester))
  const found: unknown = Array.isArray(answer) ? answer[0] : answer
  if (!isObject(found)) throw requester.error('admin_malformed', 'the response does not contain the settings')
  // A documented name ends with a space.
  const values = new Map(Object.entries(found).map(([name, value]) => [name.trim(), toNumber(value)]))
  const settings = Object.entries(namesOf(requester.address.product)).map(([name, spelling]) => [
    name,
    values.get(spelling),
  ])
  return Object.fromEntries(settings.filter(([, value]) => value !== undefined))
}

async function pathOf(requester: Requester): Promise<string> {
  const { product } = requester.address
  if (product === 'portal') return `${await pathOfPortal(requester)}/settings`
  return product === 'online' ? '/WebHooks/webhookSettings' : '/services/webhooks/settings'
}

/** @throws {WebhookError} also `admin_unsupported`, `admin_not_applied`, `config_invalid` */
export async function editSettings(
  requester: Requester,
  changes: DeliverySettings,
): Promise<DeliverySettings> {
  if (!isObject(changes)) throw configInvalid('the settings must be an object')
  checkOptions(changes, RULES, 'setting')
  const { product } = requester.address
  const names = namesOf(product)
  const given = (Object.keys(RULES) as (keyof DeliverySettings)[]).filter(
    (name) => changes[name] !== undefined,
  )
  if (given.length === 0) throw configInvalid('there is no setting to change')
  const absent = given.filter((name) => !(name in names))
  if (absent.length > 0)
    throw requester.error('admin_unsupported', `this product has no setting ${absent.join(', ')}`)
  const differing = (settings: DeliverySettings): string[] =>
    given.filter((name) => settings[name] !== changes[name])
  const before = await readSettings(requester)
  const form: Record<string, string> = {}
  // Some products take a setting that is left out for its default.
  for (const [name, spelling] of Object.entries(names) as [keyof DeliverySettings, string][]) {
    const value = changes[name] ?? before[name]
    if (value !== undefined) form[spelling] = String(value)
  }
  const path = (await pathOf(requester)) + (product === 'portal' ? '/update' : '')
  await requester.change(path, form, async () => differing(await readSettings(requester)).length === 0)
  const after = await readSettings(requester)
  const different = differing(after)
  if (different.length === 0) return after
  throw requester.error(
    'admin_not_applied',
    `the service did not store as requested: ${different.join(', ')}`,
    'The service may allow other values only.',
  )
}
