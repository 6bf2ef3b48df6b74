import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { configInvalid } from '../../errors.ts'
import { AdminError } from '../http/errors.ts'
import { check } from '../schemas.ts'
import { type Auth, MAX_MINUTES, type User } from './auth.ts'
import { single } from './form-fields.ts'
import { CHANGE_METHODS, type RootOperation, unchanged } from './operation.ts'
import { oneOf, readEach, required, wholeNumber } from './parameter-values.ts'

/** A user who can get a token. */
export interface TokenUser extends User {
  password: string
}

/** Options of {@link tokens}. */
export interface TokensOptions {
  users: readonly TokenUser[]
  /** Default lifetime of a token in minutes, 1 to 20160. Default 60. */
  expiration?: number | undefined
}

interface Token {
  user: User
  /** Milliseconds since 1970. */
  expires: number
}

/** Maximum number of valid tokens. At this limit, a new token replaces the oldest one. */
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
 * Requires a token from `generateToken` for the administration of webhooks. Digests of the tokens are stored in memory;
 * their expiration follows the clock of the mock service.
 *
 * @throws {WebhookError} `config_invalid` for a duplicate user name, an empty name or password, an unknown privilege, or
 *   an expiration out of bounds
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
  // For an unknown user name, the given password is compared with this random one, so that the response takes as long
  // as for a known name.
  const unknownUser = { user: undefined, password: randomBytes(32) }
  const issued = new Map<string, Token>()

  return {
    authenticate(token, now) {
      const found = issued.get(digest(token).toString('base64'))
      return found && found.expires > now ? found.user : undefined
    },
    async generateToken({ username, password, minutes = expiration }, now) {
      const candidate = known.get(username) ?? unknownUser
      const isRight = timingSafeEqual(candidate.password, digest(password))
      if (!isRight || !candidate.user) return undefined
      makeCapacity(issued, now)
      const token = randomBytes(32).toString('base64url')
      const expires = now + minutes * MINUTE
      issued.set(digest(token).toString('base64'), { user: candidate.user, expires })
      return { token, expires }
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function makeCapacity(issued: Map<string, Token>, now: number): void {
  if (issued.size < MAX_TOKENS) return
  for (const [key, { expires }] of issued) if (expires <= now) issued.delete(key)
  const [oldest] = issued.keys()
  if (issued.size >= MAX_TOKENS && oldest !== undefined) issued.delete(oldest)
}

const CLIENTS = ['referer', 'ip', 'requestip']

/** The operation that issues tokens; a service has it if its `auth` has `generateToken`. */
export const GENERATE_TOKEN: RootOperation = {
  name: 'generateToken',
  scope: 'root',
  paths: ['/generateToken', '/admin/generateToken'],
  needsTokens: true,
  summary: 'Get a token for the other operations.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: false,
  parameters: [
    { name: 'username', required: true, description: 'The name of the user.', schema: { type: 'string' } },
    {
      name: 'password',
      required: true,
      description: 'The password of the user.',
      schema: { type: 'string', format: 'password' },
    },
    {
      name: 'client',
      required: false,
      description: 'Accepted and ignored: a token is valid for every client.',
      schema: { type: 'string', enum: CLIENTS },
    },
    { name: 'referer', required: false, description: 'Accepted and ignored.', schema: { type: 'string' } },
    { name: 'ip', required: false, description: 'Accepted and ignored.', schema: { type: 'string' } },
    {
      name: 'expiration',
      required: false,
      description: 'Lifetime of the token in minutes.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_MINUTES },
    },
  ],
  response: 'Token',
  async run({ context, parameters }) {
    const { username, password, expiration } = readEach([
      ['username', () => required('username', single(parameters, 'username'))],
      ['password', () => required('password', single(parameters, 'password'))],
      ['client', () => oneOf(CLIENTS)(parameters, 'client')],
      ['expiration', () => wholeNumber(1, MAX_MINUTES)(parameters, 'expiration')],
    ]) as { username: string; password: string; expiration?: number }
    const { auth, clock } = context.options
    const token = await auth?.generateToken?.({ username, password, minutes: expiration }, clock.now())
    // Real services also use 400. A 401 response would need a WWW-Authenticate header (RFC 9110, section 15.5.2).
    if (!token) throw new AdminError(400, 'Invalid username or password')
    return unchanged({ token: token.token, expires: token.expires })
  },
}
