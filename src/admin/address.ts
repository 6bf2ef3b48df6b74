import { configInvalid } from '../errors.ts'
import type { Product } from './types.ts'

/** Where requests are sent. */
export interface Address {
  product: Product
  /** Without a slash at the end. */
  base: string
  /** The service that the given URL names, written `[folder/]<name>.<type>`. */
  service?: string | undefined
}

/** What follows the address of a server or portal in the URLs of each product. */
const SUFFIXES: Readonly<Record<Product, string>> = {
  service: '',
  enterprise: '/admin',
  online: '/rest/admin',
  portal: '/sharing/rest',
}

/** The first of these words in a path ends the address of a server or portal, and says which product it is. */
const MARK = /\/(sharing|home|portaladmin|rest\/admin|rest|admin|manager|services)(?:\/.*)?$/i

/** The base address of the specification can contain the other words. */
const SERVICES = /\/services(?:\/.*)?$/i

const SERVICE = /\/services\/(?:([^/]+)\/)?([^/]+)[./](FeatureServer|GPServer)(?:\/|$)/i

/**
 * Finds out the address of the administration. Ignores the query of the URL, which people copy with it.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readAddress(option: string, text: unknown, given?: Product): Address {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw configInvalid(`${option} must be a URL that begins with http:// or https://`)
  if (url.username !== '' || url.password !== '')
    throw configInvalid(`${option} must not contain a user name`, 'Sign in with signIn() instead.')
  const path = url.pathname.replace(/\/+$/, '')
  const mark = MARK.exec(path)
  const product = given ?? productOf(url, mark?.[1]?.toLowerCase())
  const prefix = product === 'service' ? path.replace(SERVICES, '') : path.slice(0, mark?.index)
  const [, folder, name, type = ''] = SERVICE.exec(path) ?? []
  const service =
    name && decode(`${folder ? `${folder}/` : ''}${name}.${/^f/i.test(type) ? 'FeatureServer' : 'GPServer'}`)
  return { product, base: url.origin + prefix + SUFFIXES[product], service }
}

/** Services of ArcGIS Online are on hosts such as services1.arcgis.com; its other hosts are portals. */
function productOf({ hostname, pathname }: URL, mark: string | undefined): Product {
  const isOnline = /(?:^|\.)arcgis\.com$/i.test(hostname)
  const server: Product = !isOnline ? 'enterprise' : /^services/i.test(hostname) ? 'online' : 'portal'
  if (mark === undefined) return pathname === '/' && !isOnline ? 'service' : server
  if (mark === 'rest/admin') return 'online'
  if (mark === 'services') return 'service'
  return /^(?:admin|manager|rest)$/.test(mark) ? server : 'portal'
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Parts of the name of a service. */
export interface ServiceParts {
  folder: string
  name: string
  type: 'FeatureServer' | 'GPServer'
}

/** @throws {WebhookError} `config_invalid` */
export function parseService(text: unknown): ServiceParts {
  const [, folder = '', name = '', type] =
    /^(?:([^/]+)\/)?([^/]+)\.(FeatureServer|GPServer)$/.exec(String(text)) ?? []
  // The parser of URLs would resolve the folders `.` and `..`.
  if (!type || /^\.{1,2}$/.test(folder))
    throw configInvalid(
      'the name of a service must be written like Parcels.FeatureServer or folder/Analysis.GPServer',
    )
  return { folder, name, type: type as ServiceParts['type'] }
}
