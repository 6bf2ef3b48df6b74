import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { configInvalid } from '../../errors.ts'
import { check } from '../schemas.ts'

/** Type of service that a user may administer (docs/specification.md, "Endpoints"). */
export type Privilege = 'geoprocessing' | 'features'

/** A user who administers webhooks. */
export interface User {
  username: string
  privileges: readonly Privilege[]
}

/** Longest lifetime of a token: two weeks. */
export const MAX_MINUTES = 20_160

/** Parameters of `generateToken`. */
export interface Credentials {
  username: string
  password: string
  /** Lifetime of the token in minutes, 1 to 20160; absent if the request does not specify one. */
  minutes?: number | undefined
}

/** A token, and its expiry time in milliseconds since 1970. */
export interface IssuedToken {
  token: string
  expires: number
}

/** Authenticates users who administer webhooks. */
export interface Auth {
  /** @returns the user of a token; undefined if the token is invalid or has expired */
  authenticate(token: string, now: number): User | undefined | Promise<User | undefined>
  /**
   * Issues a token to a user, or to an application that signs in with its id and secret (OAuth 2.0). If this method is
   * missing, the service has no operations `generateToken` and `oauth2/token`.
   *
   * @returns undefined for wrong credentials
   */
  generateToken?(credentials: Credentials, now: number): Promise<IssuedToken | undefined>
  /**
   * Issues a token for a server to the holder of a portal's token. If this method is missing, `generateToken` requires
   * a user name.
   *
   * @returns undefined for a token that is invalid or has expired
   */
  exchangeToken?(
    given: { token: string; minutes?: number | undefined },
    now: number,
  ): Promise<IssuedToken | undefined>
}

/** A user who can get a token. */
export interface TokenUser extends User {
  password: string
}

/** Options of {@link createTokens}. */
export interface TokensOptions {
  /** An application (OAuth 2.0) is a user with its client id as the name, and its client secret as the password. */
  users: readonly TokenUser[]
  /** Default lifetime of a token in minutes, 1 to 20160. Default 60. */
  expiration?: number | undefined
}

/** Maximum number of valid tokens. At this limit, a new token replaces the oldest one. */
const MAX_TOKENS = 10_000
const MINUTE = 60_000

const name = z.string().min(1).max(256)
const secret = z.string().min(1).max(1024)
const privileges = z.array(z.enum(['geoprocessing', 'features']))

const optionsSchema = z.strictObject({
  users: z.array(z.strictObject({ username: name, password: secret, privileges })),
  expiration: z.int().min(1).max(MAX_MINUTES).optional(),
})

/**
 * Requires a token from `generateToken` for the administration of webhooks. Digests of the tokens are stored in memory;
 * their expiration follows the clock of the mock service.
 *
 * @throws {WebhookError} `config_invalid` for a duplicate user name, an empty name or password, an unknown privilege, or
 *   an expiration out of bounds
 * @example
 * ```ts
 * import { createMockService, createTokens } from 'geohook/mock'
 *
 * const service = createMockService({
 *   auth: createTokens({ users: [{ username: 'alice', password: 'wonderland', privileges: ['features'] }] }),
 * })
 * await service.close()
 * ```
 */
export function createTokens(options: TokensOptions): Auth {
  const { users, expiration = 60 } = check<TokensOptions>(optionsSchema, options, 'tokens')
  const known = new Map(
    users.map((user) => [user.username, { user: toUser(user), password: digest(user.password) }]),
  )
  if (known.size !== users.length) throw configInvalid('two users of tokens have the same name')
  // For an unknown name, the given password is compared with this random one, so that the response takes as long as for
  // a known name.
  const unknownUser = { user: undefined, password: randomBytes(32) }
  const issued = new Map<string, { user: User; expires: number }>()

  function issue(user: User | undefined, minutes: number, now: number): IssuedToken | undefined {
    if (!user) return undefined
    makeCapacity(issued, now)
    const token = randomBytes(32).toString('base64url')
    const expires = now + minutes * MINUTE
    issued.set(toKey(token), { user, expires })
    return { token, expires }
  }

  function authenticate(token: string, now: number): User | undefined {
    const found = issued.get(toKey(token))
    return found && found.expires > now ? found.user : undefined
  }

  return {
    authenticate,
    async generateToken({ username, password, minutes = expiration }, now) {
      const candidate = known.get(username) ?? unknownUser
      const isRight = timingSafeEqual(candidate.password, digest(password))
      return issue(isRight ? candidate.user : undefined, minutes, now)
    },
    async exchangeToken({ token, minutes = expiration }, now) {
      return issue(authenticate(token, now), minutes, now)
    },
  }
}

const toUser = ({ username, privileges }: User): User => ({ username, privileges: [...privileges] })

const toKey = (token: string): string => digest(token).toString('base64')

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function makeCapacity(issued: Map<string, { expires: number }>, now: number): void {
  if (issued.size < MAX_TOKENS) return
  for (const [key, { expires }] of issued) if (expires <= now) issued.delete(key)
  const [oldest] = issued.keys()
  if (issued.size >= MAX_TOKENS && oldest !== undefined) issued.delete(oldest)
}
