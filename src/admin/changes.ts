import { configInvalid } from '../errors.ts'
import {
  checkOptions,
  describeMissing,
  isBoolean,
  isFilledText,
  isText,
  must,
  type OptionNames,
} from '../options.ts'
import { isObject } from '../shared/json.ts'
import { HIDDEN } from '../shared/redact.ts'
import { membersOf, readChangeTypes } from './members.ts'
import type { Requester } from './request.ts'
import type { Member, Schedule, WebhookChanges } from './types.ts'

const isName = must(
  'be text without white space around it',
  (name) => name !== '' && name === String(name).trim(),
)

const RULES: OptionNames<WebhookChanges> = {
  name: isName,
  hookUrl: must(
    'be an http or https URL without white space',
    (url) => typeof url === 'string' && /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) && URL.canParse(url),
  ),
  changeTypes: must(
    'be a list of names, at least one',
    (names) => Array.isArray(names) && names.length > 0 && Array.from(names).every(isChangeType),
  ),
  key: isText,
  active: isBoolean,
  contentType: isFilledText,
  payloadFormat: isFilledText,
  schedule: must('be an object like {"recurrenceInfo":{"interval":30,"frequency":"second"}}', isSchedule),
  deactivation: must(
    'be an object with the numbers numberOfFailures and daysInPast',
    (value) => isObject(value) && [value.numberOfFailures, value.daysInPast].every(Number.isInteger),
  ),
  properties: must('be an object of JSON', (value) => isObject(value) && isJson(value)),
}

const isChangeType = (name: unknown): boolean => typeof name === 'string' && /^[^\s,[\]]+$/.test(name)

const FREQUENCIES = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year']

function isSchedule(value: unknown): boolean {
  if (!isObject(value)) return false
  const { state, startAt, recurrenceInfo, name, ...others } = value as Schedule
  const { interval, frequency, ...more } = recurrenceInfo ?? {}
  return (
    Object.keys({ ...others, ...more }).length === 0 &&
    ['undefined', 'string'].includes(typeof name) &&
    [undefined, 'enabled', 'disabled'].includes(state) &&
    (startAt === undefined || Number.isInteger(startAt)) &&
    (recurrenceInfo === undefined || isObject(recurrenceInfo)) &&
    (interval === undefined || (Number.isInteger(interval) && interval > 0)) &&
    (frequency === undefined || FREQUENCIES.includes(frequency))
  )
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/**
 * Checks the values to set, and writes change types in the common form.
 *
 * @param service empty for a portal
 * @throws {WebhookError} `config_invalid`, `admin_unsupported`
 */
export function readChanges<Changes extends WebhookChanges>(
  requester: Requester,
  service: string,
  changes: Changes,
): Changes {
  if (!isObject(changes)) throw configInvalid('the members of the webhook must be an object')
  checkOptions<WebhookChanges>(changes, RULES, 'member')
  const { key, hookUrl, changeTypes } = changes
  // An unset environment variable must not mean "without a key".
  if (key === undefined && Object.hasOwn(changes, 'key')) throw configInvalid(describeMissing('key', key))
  if (key === HIDDEN || hookUrl?.includes(HIDDEN))
    throw configInvalid(`key or hookUrl contains ${HIDDEN}, the mark of a hidden part`)
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  const members = membersOf(requester.address.product, service)
  const absent = given.map(([name]) => name).filter((name) => !members.includes(name as Member))
  if (absent.length > 0)
    throw requester.error(
      'admin_unsupported',
      `webhooks of ${service || 'a portal'} have no ${absent.join(', ')}`,
    )
  requester.keepSecrets(key, hookUrl)
  const names = changeTypes && { changeTypes: readChangeTypes(changeTypes) }
  return { ...(Object.fromEntries(given) as unknown as Changes), ...names }
}
