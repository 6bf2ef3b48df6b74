import { AdminError } from '../../http/errors.ts'
import { type IssuedToken, MAX_MINUTES } from '../auth.ts'
import { single } from '../form-fields.ts'
import { CHANGE_METHODS, type RootCall, type RootOperation, unchanged } from '../operation.ts'
import { oneOf, readEach, required, wholeNumber } from '../parameter-values.ts'
import { noteSignIn } from './federation.ts'

const CLIENTS = ['referer', 'ip', 'requestip']

interface Given {
  username?: string
  password?: string
  expiration?: number
}

/** The operation of a server that issues tokens; a service has it if its `auth` has `generateToken`. */
export const GENERATE_TOKEN: RootOperation = {
  name: 'generateToken',
  scope: 'root',
  paths: ['/generateToken', '/admin/generateToken'],
  summary: 'Get a token for the other operations.',
  methods: CHANGE_METHODS,
  since: '11.1',
  changes: false,
  needs: 'generateToken',
  parameters: [
    {
      name: 'username',
      required: false,
      description: 'The name of the user. Required without the parameter token.',
      schema: { type: 'string' },
    },
    {
      name: 'password',
      required: false,
      description: 'The password of the user. Required without the parameter token.',
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
      name: 'serverUrl',
      required: false,
      description: 'Accepted and ignored: a token is valid for every server.',
      schema: { type: 'string' },
    },
    {
      name: 'expiration',
      required: false,
      description: 'Lifetime of the token in minutes.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_MINUTES },
    },
  ],
  response: 'Token',
  run: (call) => generateToken(call, 'server'),
}

/** The same operation of the portal. */
export const PORTAL_TOKEN: RootOperation = {
  ...GENERATE_TOKEN,
  name: 'portalGenerateToken',
  paths: ['/sharing/rest/generateToken', '/sharing/generateToken'],
  run: (call) => generateToken(call, 'portal'),
}

async function generateToken(call: RootCall, place: 'server' | 'portal') {
  const { parameters } = call
  const portalToken = single(parameters, 'token')
  const { auth } = call.context.options
  const isExchange = portalToken !== undefined && parameters.get('username') === undefined
  const { expiration: minutes, ...user }: Given = readEach([
    ...(isExchange
      ? []
      : CREDENTIALS.map((name) => [name, () => required(name, single(parameters, name))] as const)),
    ['client', () => oneOf(CLIENTS)(parameters, 'client')],
    ['expiration', () => wholeNumber(1, MAX_MINUTES)(parameters, 'expiration')],
  ])
  const now = call.context.options.clock.now()
  if (isExchange)
    return unchanged(requireIssued(await auth?.exchangeToken?.({ token: portalToken, minutes }, now)))
  const { username = '', password = '' } = user
  const token = await auth?.generateToken?.({ username, password, minutes }, now)
  // Real services also use 400. A 401 response would need a WWW-Authenticate header (RFC 9110, section 15.5.2).
  if (!token) throw new AdminError(400, 'Invalid username or password')
  noteSignIn(call.context, place)
  return unchanged(requireIssued(token))
}

const CREDENTIALS = ['username', 'password'] as const

/** @throws {AdminError} 498 */
function requireIssued(issued: IssuedToken | undefined): object {
  if (!issued) throw new AdminError(498, 'the token is invalid or has expired')
  return { token: issued.token, expires: issued.expires }
}
