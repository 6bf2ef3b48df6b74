import { percentEncode } from '../percent-encode.ts'
import type { ChangesUrlEncoding } from './details.ts'

/** Returns the URL of a service, without a trailing slash. */
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
 * Returns the URL of the changes, percent-encoded like a sender's (docs/senders.md, "Payloads").
 *
 * @param query text to append after the generations, such as further parameters
 */
export function changesUrl(
  service: string,
  [first, last]: readonly [number, number],
  encoding: ChangesUrlEncoding,
  query = '',
): string {
  // Partial encoding leaves the comma, because a query may contain commas but not brackets (RFC 3986 section 3.4).
  const [open, close] = encoding === 'partial' ? ['%5B', '%5D'] : ['[', ']']
  const url = `${service}/extractChanges?serverGens=${open}${first},${last}${close}${query}`
  return encoding === 'whole' ? percentEncode(url) : url
}
