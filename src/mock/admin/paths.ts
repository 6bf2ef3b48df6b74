import type { ServiceType } from '../state/services.ts'

/** A set of paths for the operations on webhooks. The links of a page stay in the family of its path. */
export interface Family {
  /** Tells apart the operation ids of the OpenAPI document; empty for the paths of the specification. */
  name: string
  /** Path of the webhooks of the whole site; undefined if the family has none. */
  site?: string
  /** OpenAPI paths of the webhooks of a service: in the root folder, and in another folder. */
  webhooks: readonly [root: string, folder?: string]
  /** True if the last word of `webhooks` may be omitted before an id or an operation. */
  isWordOptional?: boolean
}

/** The paths of the specification (docs/specification.md, "Endpoints"). One edition omits the word `webhooks`. */
export const SERVICES: Family = {
  name: '',
  site: '/services/webhooks',
  webhooks: ['/services/{service}/webhooks', '/services/{folderName}/{service}/webhooks'],
  isWordOptional: true,
}

/** The paths of a server's administrator directory. */
export const SERVER_ADMIN: Family = {
  name: 'Admin',
  site: '/admin/services/webhooks',
  webhooks: ['/admin/services/{service}/webhooks', '/admin/services/{folderName}/{service}/webhooks'],
}

/** The paths of a hosted feature service, also for services that are not hosted. */
export const HOSTED: Family = {
  name: 'Hosted',
  webhooks: [
    '/rest/admin/services/{serviceName}/FeatureServer/WebHooks',
    '/rest/admin/services/{folderName}/{serviceName}/FeatureServer/WebHooks',
  ],
}

/** The paths of a portal's webhooks. Every `portalId` names the one portal of a mock. */
export const PORTAL: Family = {
  name: 'Portal',
  webhooks: ['/sharing/rest/portals/{portalId}/webhooks'],
}

/** The service that a path names, whether or not it exists. */
export interface Address {
  family: Family
  /** Undefined for paths that name no service. */
  service?: AddressedService
}

export interface AddressedService {
  /** In the format of `servicePath`. */
  path: string
  serviceType: ServiceType
}

/** Names in a path by their parameter, decoded. */
export type PathNames = Readonly<Record<string, string>>

/** Some clients write this word in other letter case. */
const HOSTED_WORD = 'WebHooks'

const PARAMETER = /^\{(\w+)\}$/

/** Name of the parameter in a segment of an OpenAPI path; undefined for a literal segment. */
const parameterOf = (segment: string): string | undefined => PARAMETER.exec(segment)?.[1]

/**
 * Splits a path and decodes its segments.
 *
 * @returns undefined if a segment is empty, invalid or contains an encoded slash
 */
export function decodeSegments(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined
  try {
    const parts = path.slice(1).split('/').map(decodeURIComponent)
    return parts.every((part) => part !== '' && !part.includes('/')) ? parts : undefined
  } catch {
    return undefined
  }
}

/**
 * Compares the segments of a path with an OpenAPI path, case-sensitively except for the word `WebHooks`. Returns
 * undefined if they differ.
 */
export function matchSegments(
  segments: readonly string[],
  template: readonly string[],
): PathNames | undefined {
  const names: Record<string, string> = {}
  for (const [index, expected] of template.entries()) {
    const segment = segments[index] as string
    const name = parameterOf(expected)
    if (name === undefined ? !isWord(segment, expected) : !isPossible(name, segment)) return undefined
    if (name !== undefined) names[name] = segment
  }
  return names
}

const isWord = (segment: string, expected: string): boolean =>
  segment === expected || (expected === HOSTED_WORD && segment.toLowerCase() === HOSTED_WORD.toLowerCase())

/** A folder may be named like a service (`Parcels.FeatureServer`); an id never is. */
function isPossible(name: string, segment: string): boolean {
  if (name === 'service') return serviceTypeOf(segment) !== undefined
  return name !== 'webhookId' || serviceTypeOf(segment) === undefined
}

const serviceTypeOf = (part: string): ServiceType | undefined =>
  /.\.(FeatureServer|GPServer)$/s.exec(part)?.[1] as ServiceType | undefined

/** The service that the names in a path belong to. Paths with a `serviceName` are those of feature services. */
export function toAddressedService(names: PathNames): AddressedService | undefined {
  const { folderName, service, serviceName, portalId } = names
  if (portalId !== undefined) return { path: `${portalId}.Portal`, serviceType: 'Portal' }
  const name = serviceName === undefined ? service : `${serviceName}.FeatureServer`
  const serviceType = serviceTypeOf(name ?? '')
  if (name === undefined || !serviceType) return undefined
  return { path: folderName === undefined ? name : `${folderName}/${name}`, serviceType }
}

/** Orders paths so that a word comes before a parameter at the same position. */
export function compareTemplates(one: readonly string[], other: readonly string[]): number {
  const rank = (segment: string | undefined): number => (parameterOf(segment ?? '') === undefined ? 0 : 1)
  for (const [index, segment] of one.entries()) {
    const difference = rank(segment) - rank(other[index])
    if (difference !== 0) return difference
  }
  return 0
}

/**
 * Path of the webhooks of a service in a family, encoded and without a slash at its start.
 *
 * @param path in the format of `servicePath`
 */
export function webhooksPath({ webhooks }: Family, path: string): string {
  const [service = '', folderName] = path.split('/').reverse()
  const serviceName = service.slice(0, service.lastIndexOf('.'))
  const template = (folderName === undefined ? undefined : webhooks[1]) ?? webhooks[0]
  const names = { service, serviceName, portalId: serviceName, folderName: folderName ?? '' }
  return fillTemplate(template, names).slice(1)
}

/** Replaces the parameters of an OpenAPI path. */
const fillTemplate = (template: string, names: PathNames): string =>
  template
    .split('/')
    .map((segment) => {
      const name = parameterOf(segment)
      return name === undefined ? segment : encodeURIComponent(names[name] ?? '')
    })
    .join('/')
