import type { User } from '../auth.ts'
import { type Call, type Context, READ_METHODS, type RootOperation, unchanged } from '../operation.ts'
import { noteSignIn } from './federation.ts'

const DESCRIPTION = {
  scope: 'root',
  methods: READ_METHODS,
  since: '11.1',
  changes: false,
  parameters: [],
} as const

/** Says where a client gets a token for the server. */
export const SERVER_INFO: RootOperation = {
  ...DESCRIPTION,
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
  ...DESCRIPTION,
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
  ...DESCRIPTION,
  name: 'communitySelf',
  paths: ['/sharing/rest/community/self'],
  summary: 'Read the user of the token.',
  response: 'User',
  run: async ({ context, identify }) => unchanged(toUserJson(await identify(), portalIdOf(context))),
}

export const PORTALS_SELF: RootOperation = {
  ...DESCRIPTION,
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
      isPortal: context.options.like !== 'online',
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
