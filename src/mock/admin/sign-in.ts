import { AdminError } from '../http/errors.ts'
import { CHANGE_METHODS, optional, type ParameterDescription, required } from '../http/operation.ts'
import { readAll, single } from '../http/request.ts'
import { type Context, READ, type RootCall, type RootOperation } from './operation.ts'
import { type IssuedToken, MAX_MINUTES, type User } from './tokens.ts'

/** Called after a sign-in at the server or at the portal. */
function noteSignIn(context: Context, place: 'server' | 'portal'): void {
  if (context.options.federated === undefined) context.isFederated = place === 'portal'
}

const EXPIRATION = optional('expiration', 'Lifetime of the token in minutes.', {
  type: 'integer',
  minimum: 1,
  maximum: MAX_MINUTES,
})

const CREDENTIALS: readonly ParameterDescription[] = [
  optional('username', 'The name of the user. Required without the parameter token.'),
  optional('password', 'The password of the user. Required without the parameter token.', {
    type: 'string',
    format: 'password',
  }),
]

const TOKEN_PARAMETERS: readonly ParameterDescription[] = [
  ...CREDENTIALS,
  optional('client', 'Accepted and ignored: a token is valid for every client.', {
    type: 'string',
    enum: ['referer', 'ip', 'requestip'],
  }),
  optional('referer', 'Accepted and ignored.'),
  optional('ip', 'Accepted and ignored.'),
  optional('serverUrl', 'Accepted and ignored: a token is valid for every server.'),
  EXPIRATION,
]

async function generateToken({ context, parameters }: RootCall, place: 'server' | 'portal'): Promise<object> {
  const { auth, clock } = context.options
  const portalToken = single(parameters, 'token')
  const isExchange = portalToken !== undefined && parameters.get('username') === undefined
  const descriptions = isExchange
    ? TOKEN_PARAMETERS
    : TOKEN_PARAMETERS.map((given) => ({ ...given, required: CREDENTIALS.includes(given) }))
  const { expiration: minutes, username = '', password = '' }: Given = readAll(parameters, descriptions)
  if (isExchange)
    return requireIssued(await auth?.exchangeToken?.({ token: portalToken, minutes }, clock.now()))
  const token = await auth?.generateToken?.({ username, password, minutes }, clock.now())
  // Real services also use 400. A 401 response would need a WWW-Authenticate header (RFC 9110, section 15.5.2).
  if (!token) throw new AdminError(400, 'Invalid username or password')
  noteSignIn(context, place)
  return requireIssued(token)
}

const tokenOperation = (
  name: string,
  place: 'server' | 'portal',
  paths: readonly string[],
): RootOperation => ({
  name,
  scope: 'root',
  paths,
  summary: 'Get a token for the other operations.',
  ...READ,
  methods: CHANGE_METHODS,
  needs: 'generateToken',
  parameters: TOKEN_PARAMETERS,
  response: 'Token',
  run: (call) => generateToken(call, place),
})

/** The values of the parameters of both operations. */
interface Given {
  username?: string
  password?: string
  client_id?: string
  client_secret?: string
  expiration?: number
}

function requireIssued(issued: IssuedToken | undefined): object {
  if (!issued) throw new AdminError(498, 'the token is invalid or has expired')
  return { token: issued.token, expires: issued.expires }
}

const OAUTH_PARAMETERS: readonly ParameterDescription[] = [
  required('client_id', 'The id of the application, which is the name of a user.'),
  required('client_secret', 'The secret of the application, which is the password of the user.', {
    type: 'string',
    format: 'password',
  }),
  required('grant_type', 'How the application proves itself.', {
    type: 'string',
    enum: ['client_credentials'],
  }),
  EXPIRATION,
]

/** Issues tokens to applications (RFC 6749, section 4.4). Unlike there, errors have the format of the family. */
async function generateOAuthToken({ context, parameters }: RootCall): Promise<object> {
  const given: Given = readAll(parameters, OAUTH_PARAMETERS)
  const { client_id: username = '', client_secret: password = '', expiration: minutes } = given
  const { auth, clock } = context.options
  const now = clock.now()
  const issued = await auth?.generateToken?.({ username, password, minutes }, now)
  if (!issued) throw new AdminError(400, 'Invalid client_id or client_secret')
  noteSignIn(context, 'portal')
  return { access_token: issued.token, expires_in: Math.floor((issued.expires - now) / 1000) }
}

/** The response of `info`, which tells a client where it gets a token. */
const toInfo = ({ options: { version, auth } }: Context, owner: string | undefined, tokenUrl: string) => ({
  currentVersion: Number(version),
  fullVersion: `${version}.0`,
  ...(owner === undefined ? {} : { owningSystemUrl: owner }),
  authInfo: {
    isTokenBasedSecurity: auth !== undefined,
    ...(auth?.generateToken ? { tokenServicesUrl: tokenUrl } : {}),
  },
})

const portalIdOf = ({ state }: Context): string => state.services.portal().serviceName

const toUserJson = ({ username }: User, orgId: string): object => ({
  username,
  fullName: username,
  orgId,
  role: 'org_admin',
})

/** The operations of the server and of the portal that the vendor's clients call before any other. */
export const SIGN_IN_OPERATIONS: readonly RootOperation[] = [
  tokenOperation('generateToken', 'server', ['/generateToken', '/admin/generateToken']),
  tokenOperation('portalGenerateToken', 'portal', ['/sharing/rest/generateToken', '/sharing/generateToken']),
  {
    name: 'oauthToken',
    scope: 'root',
    paths: ['/sharing/rest/oauth2/token', '/sharing/oauth2/token'],
    summary: 'Get a token for an application.',
    ...READ,
    methods: CHANGE_METHODS,
    needs: 'generateToken',
    parameters: OAUTH_PARAMETERS,
    response: 'OAuthToken',
    run: generateOAuthToken,
  },
  {
    name: 'serverInfo',
    scope: 'root',
    paths: ['/rest/info'],
    summary: 'Read how to sign in at the server.',
    ...READ,
    response: 'ServerInfo',
    run: ({ context, origin }) =>
      toInfo(context, context.isFederated ? origin : undefined, `${origin}/generateToken`),
  },
  {
    name: 'portalInfo',
    scope: 'root',
    paths: ['/sharing/rest/info', '/sharing/info'],
    summary: 'Read how to sign in at the portal.',
    ...READ,
    response: 'ServerInfo',
    run: ({ context, origin }) => toInfo(context, origin, `${origin}/sharing/rest/generateToken`),
  },
  {
    name: 'communitySelf',
    scope: 'root',
    paths: ['/sharing/rest/community/self'],
    summary: 'Read the user of the token.',
    ...READ,
    response: 'User',
    run: async ({ context, identify }) => toUserJson(await identify(), portalIdOf(context)),
  },
  {
    name: 'portalsSelf',
    scope: 'root',
    paths: ['/sharing/rest/portals/self'],
    summary: 'Read the portal, with the user of the token.',
    ...READ,
    response: 'Portal',
    async run({ context, identify, origin }) {
      const user = await identify()
      noteSignIn(context, 'portal')
      return {
        id: portalIdOf(context),
        name: 'geohook',
        portalName: 'geohook mock service',
        portalHostname: new URL(origin).host,
        isPortal: context.options.product !== 'online',
        supportsOAuth: context.options.auth?.generateToken !== undefined,
        currentVersion: context.options.version,
        authorizedCrossOriginDomains: [],
        user: toUserJson(user, portalIdOf(context)),
      }
    },
  },
]
