import { settingsSchema } from '../delivery-settings.ts'
import { portalConfigSchema, scheduleSchema, webhookSchema } from '../schemas.ts'
import { exactly, listOf, type Schema, TEXT, TIME, toJsonSchema, withAllMembers } from './json-schema.ts'

const SUCCESS = { const: 'success' }

const { properties: webhookMembers } = withAllMembers(webhookSchema.omit({ config: true })) as {
  properties: Record<string, unknown>
}
/** `scheduleInfo` may be empty, because a geoprocessing webhook has no schedule. */
export const WEBHOOK_MEMBERS: Readonly<Record<string, unknown>> = {
  ...webhookMembers,
  scheduleInfo: { anyOf: [withAllMembers(scheduleSchema), exactly({})] },
}

const { id: globalId, ...hostedMembers } = WEBHOOK_MEMBERS
const HOSTED_SUCCESS = { status: SUCCESS, success: { const: true } }

const PAGE = {
  total: { type: 'integer', minimum: 0 },
  start: { type: 'integer', minimum: 1 },
  num: { type: 'integer', minimum: 1 },
  nextStart: { type: 'integer', description: '-1 on the last page' },
}

const user = exactly({ username: TEXT, fullName: TEXT, orgId: TEXT, role: TEXT })

/** Schemas of the administration's responses, by name. */
export const ADMIN_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: exactly({
    status: { const: 'error' },
    messages: { type: 'array', items: TEXT, minItems: 1 },
    code: { type: 'integer' },
  }),
  ErrorObject: exactly({
    error: exactly({ code: { type: 'integer' }, message: TEXT, details: { type: 'array', items: TEXT } }),
  }),
  Status: exactly({ status: SUCCESS }),
  Webhook: exactly({ ...WEBHOOK_MEMBERS, status: SUCCESS }, ['status']),
  Webhooks: exactly({ webhooks: listOf('Webhook') }),
  NotificationStatus: exactly({
    webhookNotificationStatus: {
      type: 'array',
      items: exactly({ invoked: { const: false }, invokedTimestamp: TIME }),
    },
  }),
  HostedWebhook: exactly({ globalId, ...hostedMembers, ...HOSTED_SUCCESS }, Object.keys(HOSTED_SUCCESS)),
  HostedWebhooks: listOf('HostedWebhook'),
  HostedStatus: exactly(HOSTED_SUCCESS),
  HostedNotificationStatus: {
    type: 'array',
    items: exactly({
      webhookNotificationStatus: {
        type: 'array',
        items: exactly({
          invoked: { const: 'false' },
          invokedTimestamp: { ...TEXT, description: 'Milliseconds since 1970' },
          serverResponse: TEXT,
        }),
      },
    }),
  },
  PortalWebhook: exactly({
    id: TEXT,
    accountId: { ...TEXT, description: 'Id of the portal' },
    payloadUrl: TEXT,
    secret: TEXT,
    isActive: { type: 'boolean' },
    name: TEXT,
    config: toJsonSchema(portalConfigSchema),
    ownerId: TEXT,
    created: TIME,
    modified: TIME,
    events: { type: 'array', items: TEXT },
  }),
  PortalWebhooks: exactly({ ...PAGE, webhooks: listOf('PortalWebhook') }),
  PortalStatus: exactly({ success: { const: true }, id: { ...TEXT, description: 'Id of a new webhook' } }, [
    'id',
  ]),
  PortalNotificationStatus: exactly({
    ...PAGE,
    WebhookStatus: {
      type: 'array',
      items: exactly({
        id: { ...TEXT, description: 'Id of the webhook' },
        isInvoked: { type: 'boolean', description: 'Whether the response was a success' },
        invokedTimestamp: { ...TEXT, description: 'In UTC, for example 2019-01-23 14:26:44.644' },
        responseText: TEXT,
        payload: TEXT,
      }),
    },
  }),
  PortalSettings: withAllMembers(
    settingsSchema.pick({
      notificationAttempts: true,
      notificationTimeOutInSeconds: true,
      notificationElapsedTimeInSeconds: true,
    }),
  ),
  Settings: exactly({ ...(withAllMembers(settingsSchema).properties as object), status: SUCCESS }, [
    'status',
  ]),
  Token: exactly({ token: TEXT, expires: TIME }),
  OAuthToken: exactly({ access_token: TEXT, expires_in: { type: 'integer', description: 'Seconds' } }),
  ServerInfo: exactly(
    {
      currentVersion: { type: 'number' },
      fullVersion: TEXT,
      owningSystemUrl: { ...TEXT, description: 'Address of the portal that the server belongs to' },
      authInfo: exactly({ isTokenBasedSecurity: { type: 'boolean' }, tokenServicesUrl: TEXT }, [
        'tokenServicesUrl',
      ]),
    },
    ['owningSystemUrl'],
  ),
  User: user,
  Portal: exactly({
    id: TEXT,
    name: TEXT,
    portalName: TEXT,
    portalHostname: TEXT,
    isPortal: { type: 'boolean' },
    supportsOAuth: { type: 'boolean' },
    currentVersion: TEXT,
    authorizedCrossOriginDomains: { type: 'array', items: TEXT },
    user,
  }),
}
