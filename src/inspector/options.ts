import { configInvalid } from '../errors.ts'
import { checkOptions, describeMissing, isFunction, isText, type OptionNames } from '../options.ts'
import { utf8 } from '../shared/bytes.ts'

/** Options of `createInspector`. Without `token` and `authorize`, only requests from this machine are answered. */
export interface InspectorOptions {
  /** Shared secret for the login page, at least 16 characters. It never appears in a URL or a page. */
  token?: string | undefined
  /**
   * Your own login: called for every request with the platform's request object, before anything is shown. The
   * response is 403 if it does not return true, or throws.
   */
  authorize?: ((request: object) => boolean | Promise<boolean>) | undefined
  /** Path at which the inspector is mounted, for example `/inspect`. Default: the mount path in Express, otherwise none. */
  base?: string | undefined
}

/** The validated options. */
export interface ResolvedOptions {
  token: Uint8Array | undefined
  authorize: InspectorOptions['authorize']
  base: string | undefined
}

const NAMES: OptionNames<InspectorOptions> = { token: isText, authorize: isFunction, base: isText }
const MIN_TOKEN = 16

/**
 * Excludes `//`, with which browsers would begin the address of another host, dot segments, and characters with a
 * meaning in a cookie.
 */
export const isBase = (path: string): boolean => /^(\/(?!\.{1,2}(\/|$))[\w.~!$&'()*+=:@%-]+)*$/.test(path)

/** @throws {WebhookError} `config_invalid` */
export function readOptions(options: InspectorOptions = {}): ResolvedOptions {
  const { token, authorize, base } = checkOptions(options, NAMES)
  if (token !== undefined && token.length < MIN_TOKEN)
    throw configInvalid(
      token === '' ? describeMissing('token', token) : `token must have at least ${MIN_TOKEN} characters`,
    )
  const path = base?.replace(/\/$/, '')
  if (path !== undefined && !isBase(path))
    throw configInvalid('base must be a path such as /inspect, without a query')
  return { token: token === undefined ? undefined : utf8(token), authorize, base: path }
}
