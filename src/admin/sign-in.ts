import { configInvalid } from '../errors.ts'
import { checkOptions, isFilledText, isFunction, milliseconds, type OptionNames } from '../options.ts'
import { type Fetch, REFERER } from '../shared/client.ts'
import { isObject } from '../shared/json.ts'
import { type Credentials, readToken } from '../shared/tokens.ts'
import { readAddress, requireSecure } from './address.ts'
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
  /** The referer to which tokens of a user are bound: an http or https URL, or a host. Default `'geohook'`. */
  referer?: string | undefined
  /** Maximum duration of a sign-in in milliseconds, 1,000 to 2^31 - 1. Default 60,000. */
  timeout?: number | undefined
  /** A function that sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

/** A token source that signs in again if a service rejects its token, for example because it has expired. */
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
  referer: REFERER,
  timeout: milliseconds(1000),
  fetch: isFunction,
}

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
  const { portal, username, password, clientId, clientSecret, referer = 'geohook' } = given
  const isApp = clientId !== undefined || clientSecret !== undefined
  const isUser = username !== undefined || password !== undefined
  const [name, secret] = isApp ? [clientId, clientSecret] : [username, password]
  if (isApp === isUser || name === undefined || secret === undefined)
    throw configInvalid('signIn needs username and password, or clientId and clientSecret')
  const address = readAddress('portal', portal, /\/admin\/?$/i.test(portal) ? 'enterprise' : 'portal')
  requireSecure(address, 'password')
  const { fetch, timeout = 60_000 } = given
  const tokens = readToken(undefined, toTokenError)
  const requester = new Requester(address, { tokens, referer, fetch, timeout })
  requester.keepSecrets(secret, undefined)
  const credentials = isApp
    ? { client_id: name, client_secret: secret, grant_type: 'client_credentials' }
    : { username: name, password: secret, client: 'referer', referer }

  async function request(): Promise<string> {
    const path = isApp ? '/oauth2/token' : '/generateToken'
    const answer = await requester.post(path, { ...credentials, expiration: '60' })
    const token = isObject(answer) ? (answer.token ?? answer.access_token) : undefined
    if (typeof token === 'string' && token !== '') return token
    throw requester.error('admin_malformed', 'the response contains no token')
  }

  let token = await request()
  return {
    referer,
    getToken: async () => token,
    async refreshCredentials() {
      token = await request()
    },
  }
}
