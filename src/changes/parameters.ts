import type { Settings } from './options.ts'
import type { ServiceRequest } from './requests.ts'

/** Parameters of a `changesUrl` that are passed on, by name in lower case. Others could change what is returned. */
const PASSED: Readonly<Record<string, string>> = {
  async: 'async',
  gdbversion: 'gdbVersion',
  layerqueries: 'layerQueries',
  transporttype: 'transportType',
}

/** Which changes of a `changesUrl` to return; a missing one is true (docs/senders.md). */
const KINDS = ['returnInserts', 'returnUpdates', 'returnDeletes']

/**
 * The fields of an extraction for the events of a service. What to return is always explicit, because the vendor's
 * products differ in the defaults.
 */
export function toParameters(request: ServiceRequest, settings: Settings): Record<string, string> {
  const { parameters, hasAttachments } = request
  // The generations of a layer say that all its changes were handled, so all of them are extracted.
  const isAll = settings.inbox !== undefined
  const isTrue = (name: string): boolean => parameters.get(name.toLowerCase())?.toLowerCase() === 'true'
  const isFalse = (name: string): boolean => parameters.get(name.toLowerCase())?.toLowerCase() === 'false'
  const fields: Record<string, string> = { ...settings.parameters }
  for (const [name, spelled] of Object.entries(PASSED)) {
    const value = parameters.get(name)
    if (value !== undefined && !(isAll && name === 'layerqueries')) fields[spelled] = value
  }
  for (const name of KINDS) fields[name] = String(isAll || !isFalse(name))
  fields.returnAttachments = String(settings.attachments ?? (hasAttachments || isTrue('returnAttachments')))
  return fields
}
