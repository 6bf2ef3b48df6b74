import { z } from 'zod'
import { routesOf } from '../admin/operations.ts'
import { portalSettingsSchema, settingsSchema } from '../delivery-settings.ts'
import { faultSchema } from '../faults/faults.ts'
import { FEATURE_ROUTES } from '../features/routes.ts'
import {
  COMMON_PARAMETERS,
  contentOf,
  type ErrorOptions,
  INTEGER,
  listOf,
  type Method,
  type OperationDescription,
  type ParameterDescription,
  type Route,
  type Schema,
  schemaRef,
  TEXT,
} from '../http/operation.ts'
import type { ResolvedOptions } from '../options.ts'
import {
  portalConfigSchema,
  scheduleSchema,
  serviceDataSchema,
  serviceSchema,
  snapshotSchema,
  webhookSchema,
} from '../schemas.ts'

function toJsonSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest
}

/** Schema of an object with these members and no others. */
const exactly = (properties: Record<string, unknown>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
})

/** The schema of a response, in which no member is optional. */
const withAllMembers = (schema: z.ZodObject): Schema => toJsonSchema(schema.required())

const TIME: Schema = { type: 'integer', minimum: 0, description: 'Milliseconds since 1970' }

const SUCCESS = { const: 'success' }

const { properties: webhookMembers } = withAllMembers(webhookSchema.omit({ config: true })) as {
  properties: Record<string, unknown>
}
/** `scheduleInfo` may be empty, because a geoprocessing webhook has no schedule. */
const WEBHOOK_MEMBERS: Readonly<Record<string, unknown>> = {
  ...webhookMembers,
  scheduleInfo: { anyOf: [withAllMembers(scheduleSchema), exactly({})] },
}

const BOOLEAN: Schema = { type: 'boolean' }
const HOSTED_SUCCESS = { status: SUCCESS, success: { const: true } }

/** Keys are missing in answers if the option `like.keys` hides them. */
const HIDEABLE = ['signatureKey', 'secret']

const PAGE = {
  total: { type: 'integer', minimum: 0 },
  start: { type: 'integer', minimum: 1 },
  num: { type: 'integer', minimum: 1 },
  nextStart: { type: 'integer', description: '-1 on the last page' },
}

const headers = { type: 'object', additionalProperties: true }
const snapshotMembers = toJsonSchema(snapshotSchema).properties as Record<string, unknown>
const user = exactly({ username: TEXT, fullName: TEXT, orgId: TEXT, role: TEXT })

/** Schemas of responses and their parts, by name. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: exactly({
    status: { const: 'error' },
    messages: { ...listOf(TEXT), minItems: 1 },
    code: INTEGER,
  }),
  ErrorObject: exactly({
    error: exactly({ code: INTEGER, message: TEXT, details: listOf(TEXT) }),
  }),
  Status: exactly({ status: SUCCESS }),
  Webhook: exactly({ ...WEBHOOK_MEMBERS, status: SUCCESS }, ['status', ...HIDEABLE]),
  Webhooks: exactly({ webhooks: listOf(schemaRef('Webhook')) }),
  NotificationStatus: exactly({
    webhookNotificationStatus: listOf(exactly({ invoked: { const: false }, invokedTimestamp: TIME })),
  }),
  HostedWebhook: exactly(
    {
      name: TEXT,
      owner: TEXT,
      id: { ...INTEGER, description: 'Paths accept it in place of globalId' },
      globalId: TEXT,
      tenantId: TEXT,
      serviceId: INTEGER,
      active: BOOLEAN,
      hookUrl: TEXT,
      serviceUrl: TEXT,
      signatureKey: TEXT,
      format: WEBHOOK_MEMBERS.payloadFormat,
      serverGen: INTEGER,
      createdTime: TIME,
      lastUpdatedTime: TIME,
      changeTypes: listOf(TEXT),
      scheduleInfo: {
        anyOf: [withAllMembers(scheduleSchema.omit({ startAt: true })), exactly({})],
      },
      ...HOSTED_SUCCESS,
    },
    Object.keys(HOSTED_SUCCESS),
  ),
  HostedWebhooks: listOf(schemaRef('HostedWebhook')),
  HostedPage: listOf({
    anyOf: [
      schemaRef('HostedWebhook'),
      exactly({ exceededTransferLimit: { const: true }, webhooks: schemaRef('HostedWebhooks') }),
    ],
  }),
  HostedSettings: listOf(
    exactly({ notificationAttempts: TEXT, notificationTimeOutInSeconds: TEXT, numberOfFailures: TEXT }),
  ),
  HostedStatus: exactly(HOSTED_SUCCESS),
  HostedSwitched: exactly({ name: TEXT, serviceType: { const: 'FeatureServer' }, ...HOSTED_SUCCESS }),
  HostedNotificationStatus: listOf(
    exactly({
      webhookNotificationStatus: listOf(
        exactly({
          invoked: { const: 'false' },
          invokedTimestamp: { ...TEXT, description: 'Milliseconds since 1970' },
          serverResponse: TEXT,
        }),
      ),
    }),
  ),
  PortalWebhook: exactly(
    {
      id: TEXT,
      accountId: { ...TEXT, description: 'Id of the portal' },
      payloadUrl: TEXT,
      secret: TEXT,
      isActive: BOOLEAN,
      name: TEXT,
      config: toJsonSchema(portalConfigSchema),
      ownerId: TEXT,
      created: TIME,
      modified: TIME,
      events: listOf(TEXT),
    },
    HIDEABLE,
  ),
  PortalWebhooks: exactly({ ...PAGE, webhooks: listOf(schemaRef('PortalWebhook')) }),
  PortalServiceWebhooks: exactly({
    webhooks: listOf(
      exactly(
        {
          ...WEBHOOK_MEMBERS,
          itemId: { ...TEXT, description: 'Id of the portal item of the service' },
        },
        HIDEABLE,
      ),
    ),
  }),
  PortalStatus: exactly({ success: { const: true }, id: { ...TEXT, description: 'Id of a new webhook' } }, [
    'id',
  ]),
  PortalNotificationStatus: exactly({
    ...PAGE,
    WebhookStatus: listOf(
      exactly({
        id: { ...TEXT, description: 'Id of the webhook' },
        isInvoked: { type: 'boolean', description: 'Whether the response was a success' },
        invokedTimestamp: { ...TEXT, description: 'In UTC, for example 2019-01-23 14:26:44.644' },
        responseText: TEXT,
        payload: TEXT,
      }),
    ),
  }),
  PortalSettings: withAllMembers(portalSettingsSchema),
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
    isPortal: BOOLEAN,
    supportsOAuth: BOOLEAN,
    currentVersion: TEXT,
    authorizedCrossOriginDomains: listOf(TEXT),
    user,
  }),
  Service: withAllMembers(serviceSchema),
  Fault: exactly({ id: TEXT, ...(toJsonSchema(faultSchema).properties as object) }, [
    'webhookId',
    'times',
    'delay',
    'step',
    'member',
  ]),
  Clock: exactly({ now: TIME }),
  Faults: exactly({ faults: listOf(schemaRef('Fault')) }),
  Delivery: exactly(
    {
      id: TEXT,
      deliveryId: { ...TEXT, description: 'The same for every attempt of one delivery' },
      webhookId: TEXT,
      number: { type: 'integer', minimum: 1, description: '1 for the first attempt of a delivery' },
      hookUrl: TEXT,
      sentAt: TIME,
      request: exactly({
        method: TEXT,
        headers,
        body: { ...TEXT, contentEncoding: 'base64' },
      }),
      bytesSent: { type: 'integer', minimum: 0, description: 'If the fault is one of the connection' },
      answer: exactly({ status: INTEGER, headers, body: TEXT }),
      error: { ...TEXT, description: 'Reason for the missing response' },
      milliseconds: { type: 'integer', minimum: 0 },
      fault: TEXT,
    },
    ['bytesSent', 'answer', 'error', 'milliseconds', 'fault'],
  ),
  Deliveries: exactly(
    {
      deliveries: listOf(schemaRef('Delivery')),
      next: { type: ['string', 'null'] },
      notSent: {
        ...listOf(exactly({ webhookId: TEXT, reason: TEXT })),
        description: 'Webhooks that get no deliveries, because their last handshake failed',
      },
    },
    ['next', 'notSent'],
  ),
  Snapshot: exactly(
    {
      services: listOf(schemaRef('Service')),
      webhooks: listOf(exactly({ ...WEBHOOK_MEMBERS, config: toJsonSchema(portalConfigSchema) }, ['config'])),
      settings: withAllMembers(settingsSchema),
      failures: snapshotMembers.failures,
      handshakes: snapshotMembers.handshakes,
      featureData: listOf(toJsonSchema(serviceDataSchema)),
    },
    ['featureData'],
  ),
}

const SECURITY = {
  bearer: { type: 'http', scheme: 'bearer' },
  esri: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Esri-Authorization',
    description: 'The word Bearer and the token',
  },
}

/** The OpenAPI document of a mock service; operations that its version lacks are left out. */
export function openApiDocument(options: ResolvedOptions, controlRoutes: readonly Route[]): object {
  const { version, auth } = options
  return {
    openapi: '3.1.0',
    info: {
      title: 'geohook mock service',
      version,
      description:
        'Administration of the webhooks of geoprocessing and feature services, the features of feature services, and a control API for tests under /_mock.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'administration', description: 'Operations of the service' },
      { name: 'features', description: 'Features behind the webhooks of a feature service' },
      { name: 'control', description: 'Operations that only a mock has' },
    ],
    // `{}` makes the headers optional, because operations also accept the token as a parameter.
    security: auth ? [{ bearer: [] }, { esri: [] }, {}] : [],
    paths: pathsOf([...routesOf(options), ...FEATURE_ROUTES, ...controlRoutes], options),
    components: {
      ...(auth ? { securitySchemes: SECURITY } : {}),
      schemas: SCHEMAS,
      responses: {
        Error: errorResponse('Error'),
        ErrorObject: errorResponse('ErrorObject'),
      },
    },
  }
}

const errorResponse = (schema: string): object => ({
  description: 'Error messages; the HTTP status is the code, or 200 if the service is so configured',
  content: contentOf(schemaRef(schema)),
})

/** The paths of all operations, generated from the same table as the router. */
function pathsOf(routes: readonly Route[], errors: ErrorOptions): Record<string, object> {
  const paths: Record<string, object> = {}
  for (const route of routes)
    for (const method of route.operation.methods)
      paths[route.path] = {
        ...paths[route.path],
        [method.toLowerCase()]: describe(route, method, errors),
      }
  return paths
}

function describe(route: Route, method: Method, errors: ErrorOptions): object {
  const { path, tag, operation } = route
  const { summary, changes, since, parameters: all = [] } = operation
  const own = method === 'GET' && changes ? [] : all
  const parameters = [...own, ...(tag === 'control' ? [] : COMMON_PARAMETERS)]
  const hasForm = method === 'POST' && tag !== 'control'
  return {
    operationId: route.idOf(method),
    summary,
    ...(since === undefined ? {} : { description: `Since version ${since}.` }),
    tags: [tag],
    parameters: [...pathParameters(path), ...(hasForm ? [] : parameters.map(inQuery))],
    ...(hasForm ? { requestBody: form(parameters, operation) } : {}),
    ...(operation.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: toJsonSchema(operation.body) } },
          },
        }
      : {}),
    responses: route.responsesOf(errors),
  }
}

const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const inQuery = ({ name, description, required, schema }: ParameterDescription): object => ({
  name,
  in: 'query',
  required,
  description,
  schema,
})

/** A form that can be URL-encoded, unless it has files. */
function form(parameters: readonly ParameterDescription[], { files = [] }: OperationDescription): object {
  const schema = {
    type: 'object',
    properties: Object.fromEntries([
      ...parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
      ...files.map((name) => [name, { type: 'string', contentMediaType: 'application/octet-stream' }]),
    ]),
    required: [...parameters.filter(({ required }) => required).map(({ name }) => name), ...files],
  }
  return {
    required: schema.required.length > 0,
    content: {
      ...(files.length === 0 ? { 'application/x-www-form-urlencoded': { schema } } : {}),
      'multipart/form-data': { schema },
    },
  }
}
