import { FEATURE_CHANGE_TYPES, WILDCARD } from '../../payload/change-types.ts'
import type { Webhook, WebhookChanges } from '../webhook.ts'
import { type Parameters, single } from './form.ts'
import { AdminError, quote } from './formats.ts'
import { readSchedule } from './schedule-info.ts'

/**
 * The parameters of edit (specification, "Edit a webhook"). An optional one that is absent or empty is left out, so
 * that the webhook keeps what it has.
 *
 * @throws {AdminError} 400 with a message for each parameter that is wrong
 */
export function readChanges(parameters: Parameters, serviceType: Webhook['serviceType']): WebhookChanges {
  const messages: string[] = []
  const changes: Record<string, unknown> = {}
  for (const [name, { read, required }] of Object.entries(EDIT)) {
    try {
      const value = read(parameters, name, serviceType)
      if (value !== undefined) changes[name] = value
      else if (required(serviceType)) messages.push(`${name} is required`)
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      messages.push(...error.messages)
    }
  }
  if (messages.length > 0) throw new AdminError(400, ...messages)
  return changes
}

interface Parameter {
  /** The value, or undefined where it is not given. */
  read(parameters: Parameters, name: string, serviceType: Webhook['serviceType']): unknown
  required(serviceType: Webhook['serviceType']): boolean
}

const always = (): boolean => true
const never = (): boolean => false

const EDIT: Record<keyof WebhookChanges, Parameter> = {
  name: { read: text(256), required: always },
  changeTypes: { read: readChangeTypes, required: (serviceType) => serviceType === 'FeatureServer' },
  signatureKey: { read: text(1024), required: never },
  hookUrl: { read: readUrl, required: always },
  active: { read: oneOf(['true', 'false'], (value) => value === 'true'), required: never },
  contentType: {
    read: oneOf(['application/json', 'application/x-www-form-urlencoded']),
    required: never,
  },
  scheduleInfo: { read: readSchedule, required: never },
  payloadFormat: { read: oneOf(['json', 'pjson']), required: never },
}

function text(maximum: number): Parameter['read'] {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    if (value !== value.trim()) throw new AdminError(400, `${name} has white space around it`)
    if (value.length > maximum) throw new AdminError(400, `${name} is longer than ${maximum} characters`)
    return value
  }
}

function oneOf(allowed: string[], convert = (value: string): unknown => value): Parameter['read'] {
  return (parameters, name) => {
    const value = single(parameters, name)
    if (value === undefined) return undefined
    if (!allowed.includes(value)) throw new AdminError(400, `${name} must be one of ${allowed.join(', ')}`)
    return convert(value)
  }
}

function readUrl(parameters: Parameters, name: string): string | undefined {
  const value = single(parameters, name)
  if (value === undefined) return undefined
  // The URL parser drops line breaks and trims white space; here a payload URL is what is written, so it has none.
  if (!/^https?:\/\/[^\s\p{Cc}]+$/iu.test(value) || !URL.canParse(value) || value.length > 2048) {
    throw new AdminError(400, `${name} must be an http or https URL of at most 2048 characters`)
  }
  return value
}

/** Comma-separated, a JSON array, or the parameter repeated. */
function readChangeTypes(
  parameters: Parameters,
  name: string,
  serviceType: Webhook['serviceType'],
): string[] | undefined {
  const names = [...new Set((parameters.get(name) ?? []).flatMap(split))]
  if (names.length === 0) return undefined
  const known: readonly string[] = serviceType === 'GPServer' ? [] : FEATURE_CHANGE_TYPES
  const unknown = names.filter((changeType) => changeType !== WILDCARD && !known.includes(changeType))
  if (unknown.length === 0) return names
  const allowed = [WILDCARD, ...known].join(', ')
  throw new AdminError(400, `${name} holds ${quote(unknown[0] as string)}; a ${serviceType} has ${allowed}`)
}

function split(value: string): string[] {
  if (!value.trimStart().startsWith('[')) {
    return value
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
  }
  try {
    const names: unknown = JSON.parse(value)
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names
  } catch {
    // Not JSON: said below.
  }
  throw new AdminError(400, 'changeTypes must be comma-separated or a JSON array of texts')
}
