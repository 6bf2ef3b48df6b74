import type { ServiceType } from '../state/services.ts'
import type { Operation } from './operation.ts'

/** The site, service or operation that a path names, whether or not it exists. */
export type Address = SiteAddress | ServiceAddress

interface SiteAddress {
  scope: 'root' | 'site'
  /** Last segment of the path; empty for the list of all webhooks. */
  operation: string
}

/** In `webhooks/<word>`, the word is an operation if the service has one with this name, otherwise a webhook id. */
interface ServiceAddress {
  scope: 'service'
  /** In the format of `servicePath`. */
  service: string
  serviceType: ServiceType
  /** The path segments after the service, without the word `webhooks`: at most an id and an operation. */
  rest: readonly string[]
}

const WORD = 'webhooks'
const MAX_REST = 2

/**
 * Parses a path (docs/specification.md, "Endpoints"), case-sensitively. The word `webhooks` before an id or an
 * operation is optional, because one edition of the reference omits it.
 *
 * @returns undefined if the path has none of the specified forms
 */
export function parsePath(path: string): Address | undefined {
  const [first, ...parts] = decodeSegments(path) ?? []
  if (first === undefined) return undefined
  if (first !== 'services') return parts.length === 0 ? { scope: 'root', operation: first } : undefined
  // If the second segment names a service, the first is its folder, which may also be named like a service
  // (`Parcels.FeatureServer`). The second segment cannot be a webhook id, because ids are never named like a service.
  const place = serviceTypeOf(parts[1]) ? 1 : 0
  const serviceType = serviceTypeOf(parts[place])
  if (!serviceType) {
    const [word, operation = '', ...more] = parts
    return word === WORD && more.length === 0 ? { scope: 'site', operation } : undefined
  }
  const below = parts.slice(place + 1)
  const rest = below[0] === WORD ? below.slice(1) : below
  if (below.length === 0 || rest.length > MAX_REST) return undefined
  return { scope: 'service', service: parts.slice(0, place + 1).join('/'), serviceType, rest }
}

/** @returns the decoded segments; undefined if one is empty, invalid or contains an encoded slash */
function decodeSegments(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  try {
    const parts = path.slice(1).split('/').map(decodeURIComponent)
    return parts.every((part) => part !== '' && !part.includes('/')) ? parts : undefined
  } catch {
    return undefined
  }
}

const serviceTypeOf = (part = ''): ServiceType | undefined =>
  /.\.(FeatureServer|GPServer)$/s.exec(part)?.[1] as ServiceType | undefined

/** `{service}` is `<serviceName>.<serviceType>`. */
const SERVICES = ['/services/{service}', '/services/{folderName}/{service}']

/** All OpenAPI paths of an operation: without and with a folder, with and without the word `webhooks`. */
export function pathTemplates({ scope, segment }: Pick<Operation, 'scope' | 'segment'>): string[] {
  const last = segment === '' ? '' : `/${segment}`
  if (scope === 'root') return [last]
  if (scope === 'site') return [`/services/${WORD}${last}`]
  const id = scope === 'webhook' ? '/{webhookId}' : ''
  // The word `webhooks` is required if there is neither an id nor an operation: without it, the path
  // would name the service itself.
  const words = id + last === '' ? [`/${WORD}`] : [`/${WORD}`, '']
  return words.flatMap((word) => SERVICES.map((service) => `${service}${word}${id}${last}`))
}
