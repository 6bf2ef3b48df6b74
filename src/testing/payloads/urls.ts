import { percentEncode } from '../percent-encode.ts'
import type { ChangesUrlEncoding } from './details.ts'

/** The address of a service, without a slash at its end. */
export function serviceUrl(
  serverUrl: string,
  folderName: string | undefined,
  serviceName: string,
  serviceType: 'FeatureServer' | 'GPServer',
): string {
  let server = serverUrl
  while (server.endsWith('/')) server = server.slice(0, -1)
  return `${server}/services/${folderName ? `${folderName}/` : ''}${serviceName}/${serviceType}`
}

/**
 * Where the changes can be read, written as a sender writes it (field facts, "Payloads").
 *
 * @param query what follows the generations
 */
export function changesUrl(
  service: string,
  [first, last]: readonly [number, number],
  encoding: ChangesUrlEncoding,
  query = '',
): string {
  // In part: the brackets, which a query must not hold as they are (RFC 3986 section 3.4); their comma may stay.
  const [open, close] = encoding === 'partial' ? ['%5B', '%5D'] : ['[', ']']
  const url = `${service}/extractChanges?serverGens=${open}${first},${last}${close}${query}`
  return encoding === 'whole' ? percentEncode(url) : url
}
