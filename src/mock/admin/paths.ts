import type { ServiceType } from '../state/services.ts'
import type { Operation } from './operation.ts'

/** What a path names. Whether it is there is another question. */
export type Address = SiteAddress | ServiceAddress

interface SiteAddress {
  scope: 'root' | 'site'
  /** The last part of the path; empty for the list of the whole site. */
  operation: string
}

/** Below a service. `webhooks/<word>` is an operation of the service where it has one of that name, else an id. */
interface ServiceAddress {
  scope: 'service'
  /** As `servicePath` writes it. */
  service: string
  serviceType: ServiceType
  /** What follows, without the word `webhooks`: at most an id and an operation. */
  rest: readonly string[]
}

const WORD = 'webhooks'
const MAX_REST = 2

/**
 * Reads a path (specification, "Endpoints"), in upper and lower case as it is written. The word `webhooks` before an
 * id or an operation may be left out, as one edition of the reference does.
 *
 * @returns undefined for a path that names nothing
 */
export function parsePath(path: string): Address | undefined {
  const [first, ...parts] = decode(path) ?? []
  if (first === undefined) return undefined
  if (first !== 'services') return parts.length === 0 ? { scope: 'root', operation: first } : undefined
  // A folder may be named like a service; an id cannot.
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

/** Each part by itself, so that an encoded slash divides nothing; a part that holds one, or is empty, names nothing. */
function decode(path: string): string[] | undefined {
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

/** All paths of an operation, as templates of an OpenAPI document: without and with a folder, with and without the word `webhooks`. */
export function pathTemplates({ scope, segment }: Pick<Operation, 'scope' | 'segment'>): string[] {
  const last = segment === '' ? '' : `/${segment}`
  if (scope === 'root') return [last]
  if (scope === 'site') return [`/services/${WORD}${last}`]
  const id = scope === 'webhook' ? '/{webhookId}' : ''
  // Without the word and without more, a path names the service, not its webhooks.
  const words = id + last === '' ? [`/${WORD}`] : [`/${WORD}`, '']
  return words.flatMap((word) => SERVICES.map((service) => `${service}${word}${id}${last}`))
}
