import { configInvalid } from '../errors.ts'
import {
  checkOptions,
  isFilledText,
  isFunction,
  milliseconds,
  type OptionNames,
  wholeNumber,
} from '../options.ts'
import { type Fetch, REFERER } from '../shared/client.ts'
import { isObject } from '../shared/json.ts'
import { isSecure } from '../shared/loopback.ts'
import { type Credentials, readToken } from '../shared/tokens.ts'
import { readAddress } from './address.ts'
import { toNumber } from './members.ts'
import { Requester, toTokenError } from './request.ts'

/** Options of {@link signIn}. */
export interface SignInOptions {
  /**
   * The address of the portal; of a server that belongs to no portal, with `/admin` at the end. The password is sent only to
   * its origin.
   */
  portal: string
  /** Of a user. Newer portals allow this only if their administrator has switched it on. */
  username?: string | undefined
  password?: string | undefined
  /** Of an application (OAuth 2.0). */
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** Lifetime of a token in minutes, 1 to 20,160. Default 60. Then a new one is requested. */
  expiration?: number | undefined
  /** The referer to which tokens of a user are bound: an http or https URL, or a host. Default `'geohook'`. */
  referer?: string | undefined
  /** Maximum duration of a sign-in in milliseconds, 1,000 to 2^31 - 1. Default 60,000. */
  timeout?: number | undefined
  /** A function that sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

/** A token source that signs in again before its token expires, or if a service rejects it. */
export interface SignIn extends Credentials {
  refreshCredentials(): Promise<unknown>
  /** The referer to which the tokens are bound. */
  readonly referer: string
}

const NAMES: OptionNames<SignInOptions> = {
  portal: true,
  username: isFilledText,
  password: isFilledText,
  clientId: isFilledText,
  clientSecret: isFilledText,
  expiration: wholeNumber(1, 20_160, ' of minutes'),
  referer: REFERER,
  timeout: milliseconds(1000),
  fetch: isFunction,
}

/** A token is replaced this number of milliseconds before it expires. */
const MARGIN = 60_000

/**
 * Signs in a user or an application, and returns what `createAdmin` and `createChanges` accept as `token`.
 *
 * @throws {WebhookError} `config_invalid`, `admin_refused` or `admin_unauthorized` for wrong credentials,
 *   `admin_malformed`, `admin_unavailable`
 *
 * @example
 * ```ts
 * import { signIn } from 'geohook/admin'
 *
 * const token = await signIn({ portal: 'https://gis.example.com/portal', clientId: 'app', clientSecret: '…' })
 * console.log(token.referer) // geohook
 * ```
 */
export async function signIn(options: SignInOptions): Promise<SignIn> {
  const given = checkOptions(options, NAMES)
  const { portal, username, password, clientId, clientSecret, expiration = 60, referer = 'geohook' } = given
  const [isUser, isApp] = [username ?? password, clientId ?? clientSecret].map((value) => value !== undefined)
  if (isUser === isApp || (isUser && !(username && password)) || (isApp && !(clientId && clientSecret)))
    throw configInvalid('signIn needs username and password, or clientId and clientSecret')
  const isServer = /\/admin\/?$/i.test(portal)
  const address = readAddress('portal', portal, isServer ? 'enterprise' : 'portal')
  if (!isSecure(new URL(address.base)))
    throw configInvalid(
      `the address ${address.base} is not https`,
      'The password would be readable on the network.',
    )
  const { fetch, timeout = 60_000 } = given
  const requester = new Requester(address, {
    tokens: readToken(undefined, toTokenError),
    referer,
    fetch,
    timeout,
  })
  requester.keepSecrets(password ?? clientSecret, undefined)
  const lifetime = { expiration: String(expiration) }
  const path = isApp ? '/oauth2/token' : '/generateToken'
  const fields: Record<string, string> = isApp
    ? {
        client_id: String(clientId),
        client_secret: String(clientSecret),
        grant_type: 'client_credentials',
        ...lifetime,
      }
    : { username: String(username), password: String(password), client: 'referer', referer, ...lifetime }

  let current = { token: '', expires: 0 }

  async function renew(): Promise<string> {
    const answer = await requester.post(path, fields)
    const { token, access_token: accessToken, expires, expires_in: seconds } = isObject(answer) ? answer : {}
    const found = token ?? accessToken
    if (typeof found !== 'string' || found === '')
      throw requester.error('admin_malformed', { message: 'the response contains no token' })
    const end = toNumber(expires) ?? Date.now() + (toNumber(seconds) ?? expiration * 60) * 1000
    current = { token: found, expires: end }
    return found
  }

  await renew()
  return {
    referer,
    getToken: async () => (Date.now() < current.expires - MARGIN ? current.token : renew()),
    refreshCredentials: renew,
  }
}
