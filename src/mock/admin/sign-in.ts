import { AdminError } from '../http/errors.ts'
import { CHANGE_METHODS, optional, required } from '../http/operation.ts'
import { readAll, single } from '../http/request.ts'
import { type Call, type Context, READ, type RootCall, type RootOperation, unchanged } from './operation.ts'
import { type IssuedToken, MAX_MINUTES, type User } from './tokens.ts'

/** Called after a sign-in at the server or at the portal. */
function noteSignIn({ options, federation }: Context, place: 'server' | 'portal'): void {
  if (options.federated === undefined) federation.isFederated = place === 'portal'
}

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
  ...READ,
  methods: CHANGE_METHODS,
  needs: 'generateToken',
  parameters: [
    optional('username', 'The name of the user. Required without the parameter token.'),
    optional('password', 'The password of the user. Required without the parameter token.', {
      type: 'string',
      format: 'password',
    }),
    optional('client', 'Accepted and ignored: a token is valid for every client.', {
      type: 'string',
      enum: ['referer', 'ip', 'requestip'],
    }),
    optional('referer', 'Accepted and ignored.'),
    optional('ip', 'Accepted and ignored.'),
    optional('serverUrl', 'Accepted and ignored: a token is valid for every server.'),
    optional('expiration', 'Lifetime of the token in minutes.', {
      type: 'integer',
      minimum: 1,
      maximum: MAX_MINUTES,
    }),
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
  const { expiration: minutes, ...user }: Given = readAll(
    parameters,
    GENERATE_TOKEN.parameters?.map((given) => ({
      ...given,
      required: !isExchange && CREDENTIALS.includes(given.name),
    })),
  )
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

const CREDENTIALS: readonly string[] = ['username', 'password']

function requireIssued(issued: IssuedToken | undefined): object {
  if (!issued) throw new AdminError(498, 'the token is invalid or has expired')
  return { token: issued.token, expires: issued.expires }
}

const OAUTH_PARAMETERS = [
  required('client_id', 'The id of the application.'),
  required('client_secret', 'The secret of the application.', { type: 'string', format: 'password' }),
  required('grant_type', 'How the application proves itself.', {
    type: 'string',
    enum: ['client_credentials'],
  }),
  optional('expiration', 'Lifetime of the token in minutes.', {
    type: 'integer',
    minimum: 1,
    maximum: MAX_MINUTES,
  }),
]

/** Issues tokens to applications (RFC 6749, section 4.4). Unlike there, errors have the format of the family. */
export const OAUTH_TOKEN: RootOperation = {
  name: 'oauthToken',
  scope: 'root',
  paths: ['/sharing/rest/oauth2/token', '/sharing/oauth2/token'],
  summary: 'Get a token for an application.',
  ...READ,
  methods: CHANGE_METHODS,
  needs: 'generateAppToken',
  parameters: OAUTH_PARAMETERS,
  response: 'OAuthToken',
  async run({ context, parameters }) {
    const { client_id, client_secret, expiration } = readAll(parameters, OAUTH_PARAMETERS) as {
      client_id: string
      client_secret: string
      expiration?: number
    }
    const { auth, clock } = context.options
    const now = clock.now()
    const credentials = { clientId: client_id, clientSecret: client_secret, minutes: expiration }
    const issued = await auth?.generateAppToken?.(credentials, now)
    if (!issued) throw new AdminError(400, 'Invalid client_id or client_secret')
    noteSignIn(context, 'portal')
    return unchanged({
      access_token: issued.token,
      expires_in: Math.floor((issued.expires - now) / 1000),
    })
  },
}

/** Says where a client gets a token for the server. */
export const SERVER_INFO: RootOperation = {
  ...READ,
  scope: 'root',
  name: 'serverInfo',
  paths: ['/rest/info'],
  summary: 'Read how to sign in at the server.',
  response: 'ServerInfo',
  run: async ({ context, origin }) =>
    unchanged({
      ...versionOf(context),
      ...(context.federation.isFederated ? { owningSystemUrl: origin } : {}),
      authInfo: authInfo(context, `${origin}/generateToken`),
    }),
}

/** Says where a client gets a token for the portal. */
export const PORTAL_INFO: RootOperation = {
  ...READ,
  scope: 'root',
  name: 'portalInfo',
  paths: ['/sharing/rest/info', '/sharing/info'],
  summary: 'Read how to sign in at the portal.',
  response: 'ServerInfo',
  run: async ({ context, origin }) =>
    unchanged({
      ...versionOf(context),
      owningSystemUrl: origin,
      authInfo: authInfo(context, `${origin}/sharing/rest/generateToken`),
    }),
}

export const COMMUNITY_SELF: RootOperation = {
  ...READ,
  scope: 'root',
  name: 'communitySelf',
  paths: ['/sharing/rest/community/self'],
  summary: 'Read the user of the token.',
  response: 'User',
  run: async ({ context, identify }) => unchanged(toUserJson(await identify(), portalIdOf(context))),
}

export const PORTALS_SELF: RootOperation = {
  ...READ,
  scope: 'root',
  name: 'portalsSelf',
  paths: ['/sharing/rest/portals/self'],
  summary: 'Read the portal, with the user of the token.',
  response: 'Portal',
  async run({ context, identify, origin }) {
    const user = await identify()
    noteSignIn(context, 'portal')
    return unchanged({
      id: portalIdOf(context),
      name: 'geohook',
      portalName: 'geohook mock service',
      portalHostname: new URL(origin).host,
      isPortal: context.options.product !== 'online',
      supportsOAuth: context.options.auth?.generateAppToken !== undefined,
      currentVersion: context.options.version,
      authorizedCrossOriginDomains: [],
      user: toUserJson(user, portalIdOf(context)),
    })
  },
}

const versionOf = ({ options: { version } }: Context): object => ({
  currentVersion: Number(version),
  fullVersion: `${version}.0`,
})

const authInfo = ({ options: { auth } }: Call['context'], tokenServicesUrl: string): object => ({
  isTokenBasedSecurity: auth !== undefined,
  ...(auth?.generateToken ? { tokenServicesUrl } : {}),
})

const portalIdOf = ({ state }: Context): string => state.services.portal().serviceName

const toUserJson = ({ username }: User, orgId: string): object => ({
  username,
  fullName: username,
  orgId,
  role: 'org_admin',
})
