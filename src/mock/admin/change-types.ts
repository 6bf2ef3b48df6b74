import { WILDCARD } from '../../payload/change-types.ts'
import { AdminError, quote } from '../http/errors.ts'
import type { Webhook } from '../state/webhook.ts'
import { type ServiceVersion, triggersOf } from '../versions.ts'
import type { Parameters } from './form-fields.ts'

/**
 * Comma-separated, a JSON array, or the parameter repeated; each name once, in the order in which they came.
 *
 * @throws {AdminError} 400, also for a trigger that the service or its version does not have
 */
export function readChangeTypes(
  parameters: Parameters,
  name: string,
  { serviceType, version }: { serviceType: Webhook['serviceType']; version: ServiceVersion },
): string[] | undefined {
  const names = [...new Set((parameters.get(name) ?? []).flatMap(split))]
  if (names.length === 0) return undefined
  const allowed = [WILDCARD, ...(serviceType === 'GPServer' ? [] : triggersOf(version))]
  const unknown = names.find((changeType) => !allowed.includes(changeType))
  if (unknown === undefined) return names
  throw new AdminError(400, `${name} holds ${quote(unknown)}; a ${serviceType} has ${allowed.join(', ')}`)
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
