import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { configInvalid } from '../../errors.ts'
import { check } from '../schemas.ts'
import { type Auth, MAX_MINUTES, type User } from './auth.ts'

/** Somebody who can get a token. */
export interface TokenUser extends User {
  password: string
}

/** What {@link tokens} takes. */
export interface TokensOptions {
  users: readonly TokenUser[]
  /** For how many minutes a token is good where the request does not say, 1 to 20160. Default 60. */
  expiration?: number | undefined
}

interface Token {
  user: User
  /** Milliseconds since 1970. */
  expires: number
}

/** Tokens at one time; over it, the oldest is forgotten. */
const MAX_TOKENS = 10_000
const MINUTE = 60_000

const optionsSchema = z.strictObject({
  users: z.array(
    z.strictObject({
      username: z.string().min(1).max(256),
      password: z.string().min(1).max(1024),
      privileges: z.array(z.enum(['geoprocessing', 'features'])),
    }),
  ),
  expiration: z.int().min(1).max(MAX_MINUTES).optional(),
})

/**
 * Lets only users with a token administer webhooks; they get one from `generateToken`. Tokens are kept in memory, as
 * digests, and follow the clock of the mock service.
 *
 * @throws {WebhookError} `config_invalid` for two users of one name, an empty name or password, an unknown privilege,
 *   or an expiration out of bounds
 * @example
 * ```ts
 * import { createMockService, tokens } from 'geohook/mock'
 *
 * const service = createMockService({
 *   auth: tokens({ users: [{ username: 'alice', password: 'wonderland', privileges: ['features'] }] }),
 * })
 * await service.close()
 * ```
 */
export function tokens({ users, expiration = 60 }: TokensOptions): Auth {
  check(optionsSchema, { users, expiration }, 'tokens')
  const known = new Map(
    users.map(({ username, password, privileges }) => {
      const user: User = { username, privileges: [...privileges] }
      return [username, { user, password: digest(password) }]
    }),
  )
  if (known.size !== users.length) throw configInvalid('two users of tokens have one name')
  // Compared with for names that nobody has, so that they take as long as others.
  const nobody = { user: undefined, password: randomBytes(32) }
  const issued = new Map<string, Token>()

  return {
    authenticate(token, now) {
      const found = issued.get(digest(token).toString('base64'))
      return found && found.expires > now ? found.user : undefined
    },
    async generateToken({ username, password, minutes = expiration }, now) {
      const candidate = known.get(username) ?? nobody
      const isRight = timingSafeEqual(candidate.password, digest(password))
      if (!isRight || !candidate.user) return undefined
      makeRoom(issued, now)
      const token = randomBytes(32).toString('base64url')
      const expires = now + minutes * MINUTE
      issued.set(digest(token).toString('base64'), { user: candidate.user, expires })
      return { token, expires }
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function makeRoom(issued: Map<string, Token>, now: number): void {
  if (issued.size < MAX_TOKENS) return
  for (const [key, { expires }] of issued) if (expires <= now) issued.delete(key)
  const [oldest] = issued.keys()
  if (issued.size >= MAX_TOKENS && oldest !== undefined) issued.delete(oldest)
}
