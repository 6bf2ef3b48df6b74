import { configInvalid } from '../errors.ts'
import { isSecure } from '../shared/loopback.ts'
import { decodePercent } from '../shared/url-secrets.ts'
import type { Product } from './types.ts'

/** Where requests are sent. */
export interface Address {
  product: Product
  /** Without a slash at the end. */
  base: string
  /**
   * The URL that token sources get. The credentials of `@esri/arcgis-rest-request` know the addresses of services and of
   * portals, but not those of the administration.
   */
  tokenUrl: string
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

/** The first of these words in a path ends the address of a server or portal. */
const MARKS = ['sharing', 'home', 'portaladmin', 'admin', 'manager', 'rest', 'services']

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
  const segments = url.pathname.split('/').filter((segment) => segment !== '')
  const words = segments.map((segment) => segment.toLowerCase())
  const at = words.findIndex((word) => MARKS.includes(word))
  const product = given ?? productOf(url.hostname, words, at)
  // The base address of the specification can contain the other words.
  const end = product === 'service' ? words.indexOf('services') : at
  const prefix = (end < 0 ? segments : segments.slice(0, end)).map((segment) => `/${segment}`).join('')
  const root = url.origin + prefix
  const base = root + SUFFIXES[product]
  const tokenUrl = product === 'portal' ? base : `${root}/rest/services`
  return { product, base, tokenUrl, service: serviceIn(url.pathname) }
}

/** @throws {WebhookError} `config_invalid` for http to another machine */
export function requireSecure({ base }: Address, secret: 'password' | 'token'): void {
  if (!isSecure(new URL(base)))
    throw configInvalid(
      `the address ${base} is not https`,
      `The ${secret} would be readable on the network. Only localhost, 127.0.0.1 and [::1] may use http.`,
    )
}

/** Services of ArcGIS Online are on hosts such as services1.arcgis.com; its other hosts are portals. */
function productOf(hostname: string, words: readonly string[], at: number): Product {
  const isOnline = /(?:^|\.)arcgis\.com$/i.test(hostname)
  const server: Product = !isOnline ? 'enterprise' : /^services/i.test(hostname) ? 'online' : 'portal'
  const mark = words[at]
  if (mark === undefined && words.at(-1) === 'portal') return 'portal'
  if (mark === undefined) return words.length === 0 && !isOnline ? 'service' : server
  if (mark === 'services') return 'service'
  if (mark === 'rest' && words[at + 1] === 'admin') return 'online'
  return ['sharing', 'home', 'portaladmin'].includes(mark) ? 'portal' : server
}

/** Finds the service in the path of its administration or of its REST address: `[folder/]<name>.<type>`. */
export function serviceIn(path: string): string | undefined {
  const segments = path.split('/').map(decodePercent)
  const at = segments.findIndex((segment) => segment.toLowerCase() === 'services')
  if (at < 0) return undefined
  const names = segments.slice(at + 1, at + 4).join('/')
  const [, name, type = ''] = /^((?:[^/]+\/)?[^/]+)[./](FeatureServer|GPServer)(?:\/|$)/i.exec(names) ?? []
  return name && `${name}.${/^f/i.test(type) ? 'FeatureServer' : 'GPServer'}`
}

/** @throws {WebhookError} `config_invalid` */
export function parseService(text: unknown): { folder: string; name: string; type: string } {
  const [, folder = '', name = '', type] =
    /^(?:([^/]+)\/)?([^/]+)\.(FeatureServer|GPServer)$/.exec(String(text)) ?? []
  // The parser of URLs would resolve the path segments `.` and `..`.
  if (type && ![folder, name].some((segment) => /^\.{1,2}$|\p{Cs}/u.test(segment)))
    return { folder, name, type }
  throw configInvalid(
    'the name of a service must be written like Parcels.FeatureServer or folder/Analysis.GPServer',
  )
}
