import { configInvalid } from '../errors.ts'
import {
  checkOptions,
  describeMissing,
  isBoolean,
  isFilledText,
  isText,
  must,
  type OptionNames,
  oneOf,
  wholeNumber,
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
  schedule: must('be an object like {"recurrenceInfo":{"interval":30,"frequency":"second"}}', isObject),
  deactivation: must(
    'be an object with the numbers numberOfFailures and daysInPast',
    (value) => isObject(value) && [value.numberOfFailures, value.daysInPast].every(Number.isInteger),
  ),
  properties: must('be an object of JSON', (value) => isObject(value) && isJson(value)),
}

const SCHEDULE_RULES: OptionNames<Schedule> = {
  name: isText,
  state: oneOf('enabled', 'disabled'),
  startAt: wholeNumber(0),
  recurrenceInfo: true,
}
const RECURRENCE_RULES: OptionNames<NonNullable<Schedule['recurrenceInfo']>> = {
  interval: wholeNumber(1),
  frequency: oneOf('second', 'minute', 'hour', 'day', 'week', 'month', 'year'),
}

const isChangeType = (name: unknown): boolean => typeof name === 'string' && /^[^\s,[\]]+$/.test(name)

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/** Checks the values to set. @throws {WebhookError} `config_invalid` */
export function checkChanges(changes: WebhookChanges): void {
  if (!isObject(changes)) throw configInvalid('the members of the webhook must be an object')
  const { key, hookUrl, schedule } = checkOptions<WebhookChanges>(changes, RULES, 'member')
  checkOptions(schedule, SCHEDULE_RULES, 'schedule member')
  checkOptions(schedule?.recurrenceInfo, RECURRENCE_RULES, 'recurrenceInfo member')
  // An unset environment variable must not mean "without a key".
  if (key === undefined && Object.hasOwn(changes, 'key')) throw configInvalid(describeMissing('key', key))
  if (key === HIDDEN || hookUrl?.includes(HIDDEN))
    throw configInvalid(`key or hookUrl contains ${HIDDEN}, the mark of a hidden part`)
}

/**
 * Checks the values to set for a product, and writes change types in the common form.
 *
 * @param service empty for a portal
 * @throws {WebhookError} `config_invalid`, `admin_unsupported`
 */
export function readChanges<Changes extends WebhookChanges>(
  requester: Requester,
  service: string,
  changes: Changes,
): Changes {
  checkChanges(changes)
  const { key, hookUrl, changeTypes } = changes
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
