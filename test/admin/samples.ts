/**
 * Responses of webhook administration as its documentation prints them. Changes: lists are cut to two items, secrets
 * replaced by short values of the same form. A comment at the sample names any other change.
 */
export interface AdminSample {
  product: 'enterprise' | 'online' | 'portal'
  operation: string
  /** Set where the documentation prints several forms of a response. */
  edition?: string
  /** Short name of the documentation page. */
  source: string
  answer: unknown
}

const SERVICE = 'ArcGIS Enterprise, administrator API'
const HOSTED = 'ArcGIS Online, services reference'
const PORTAL = 'ArcGIS REST API, users, groups and items'

const schedule = (startAt: number) => ({
  name: '',
  state: 'enabled',
  startAt,
  recurrenceInfo: { interval: 20, frequency: 'second' },
})

/** The first webhook of the documented site list. */
const ONE = {
  id: '5bd49e76-df28-4bb4-91a2-bed823c69818',
  folderName: 'Hosted',
  serviceName: 'fs_webhook_1',
  serviceType: 'FeatureServer',
  name: 'Webhook 3',
  signatureKey: '12345ABCDEF',
  hookUrl: 'https://app.logic.azure.com:443/workflows/...',
  active: true,
  contentType: 'application/json',
  scheduleInfo: schedule(1695754552188),
  payloadFormat: 'json',
  created: 1695754574941,
  modified: 1695754574941,
  ownerId: 'webhookAdmin',
  modifiedId: 'webhookAdmin',
  changeTypes: ['*'],
}

/** The documented form of one webhook. The page prints placeholders, so the values are ours. */
const FEATURE_WEBHOOK = {
  id: 'a6a89a71-2cb1-47ff-89d4-46e6425e2908',
  folderName: '',
  serviceName: 'myService',
  serviceType: 'FeatureServer',
  name: 'WebHook1',
  changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
  signatureKey: '12345ABCDEF',
  hookUrl: 'https://app.logic.azure.com:443/workflows/...',
  active: true,
  contentType: 'application/json',
  scheduleInfo: schedule(1695754552188),
  payloadFormat: 'json',
  created: 1695754574941,
  modified: 1695754574941,
  ownerId: 'webhookAdmin',
  modifiedId: 'webhookAdmin',
}
const JOB_WEBHOOK = {
  ...FEATURE_WEBHOOK,
  id: '265af3e1-8075-4ed8-978a-59067d7539ef',
  serviceType: 'GPServer',
  changeTypes: ['*'],
  scheduleInfo: {},
}

const enterprise: AdminSample[] = [
  // The values from `signatureKey` on are ours.
  { operation: 'list', edition: 'geoprocessing', source: 'webhooks', answer: { webhooks: [JOB_WEBHOOK] } },
  { operation: 'get', source: 'webhook', answer: FEATURE_WEBHOOK },
  {
    operation: 'list site',
    source: 'services/webhooks',
    answer: {
      webhooks: [
        ONE,
        {
          ...ONE,
          id: '72eacbf0-7dc7-4596-88c8-0865f744fdd9',
          serviceName: 'fs_webhook_2',
          name: 'Webhook 2',
          scheduleInfo: schedule(1695754525418),
          created: 1695754539515,
          modified: 1695754539515,
        },
      ],
    },
  },
  // Documented as the webhook with its id.
  { operation: 'create', source: 'create', answer: FEATURE_WEBHOOK },
  // The members of an edit response are in docs/specification.md; the values are ours.
  {
    operation: 'edit',
    edition: 'feature service',
    source: 'edit',
    answer: { ...FEATURE_WEBHOOK, status: 'success' },
  },
  {
    operation: 'edit',
    edition: 'geoprocessing',
    source: 'edit',
    answer: { ...JOB_WEBHOOK, status: 'success' },
  },
  ...['delete', 'deleteAll', 'activateAll', 'deactivateAll'].map((operation) => ({
    operation,
    source: operation,
    answer: { status: 'success' },
  })),
  {
    operation: 'failures',
    source: 'notificationStatus',
    answer: { webhookNotificationStatus: [{ invoked: false, invokedTimestamp: 1695756823000 }] },
  },
  {
    operation: 'error',
    source: 'operation response',
    answer: {
      status: 'error',
      messages: [
        "Unauthorized access.Token not found. You can generate a token using the 'generateToken' operation.",
      ],
      code: 499,
    },
  },
].map((sample) => ({ product: 'enterprise', ...sample, source: `${SERVICE}: ${sample.source}` }))

const HOSTED_ONE = {
  name: 'WebHooks',
  owner: 'eddie',
  id: 9,
  globalId: 'c740ae24-92a1-4fd2-9a3b-53219bd221e9',
  tenantId: 1, // Printed as 01.
  serviceId: 560100,
  active: true,
  hookUrl: 'https://webhookURL',
  serviceUrl: 'https://myserver.domain.com/tenantID/ArcGIS/rest/services/WebHooks/FeatureServer',
  signatureKey: '',
  format: 'json',
  serverGen: 8104206,
  createdTime: 1589773034742,
  lastUpdatedTime: 1589773034742,
  changeTypes: ['All'],
  scheduleInfo: {
    name: 'Every-40seconds',
    state: 'enabled',
    recurrenceInfo: { frequency: 'second', interval: 40 },
  },
}

/** The members that the documented organization list prints of each webhook; it omits the others with dots. */
const IN_ORGANIZATION = { name: 'test_hook_1', owner: 'testAdmin1', id: 5183 }

const unresolved = (invokedTimestamp: string) => ({
  invoked: 'false',
  invokedTimestamp,
  serverResponse: "The remote name could not be resolved: 'enc26xq7ana3f.x.pipedream.net33'",
})

const online: AdminSample[] = [
  {
    operation: 'list',
    source: 'web hooks (feature service)',
    answer: [
      HOSTED_ONE,
      {
        ...HOSTED_ONE,
        name: 'WebHooks2',
        id: 10,
        globalId: '6e2705e5-55fe-4bb6-82d5-3ceis83lb95f', // Not a valid UUID, as printed.
        active: false,
        serverGen: 8118854,
        createdTime: 1589836353855,
        lastUpdatedTime: 1589836636586,
        scheduleInfo: {
          name: 'Every-30seconds',
          state: 'enabled',
          recurrenceInfo: { frequency: 'second', interval: 30 },
        },
      },
    ],
  },
  { operation: 'delete', source: 'delete', answer: { success: true } },
  ...['deleteAll', 'activateAll', 'deactivateAll'].map((operation) => ({
    operation,
    source: operation,
    answer: { name: 'WebHooks', serviceType: 'FeatureServer', status: 'success' },
  })),
  // Printed without the comma after "invoked".
  {
    operation: 'failures',
    source: 'notification status',
    answer: [{ webhookNotificationStatus: [unresolved('1696452586477'), unresolved('1696454892405')] }],
  },
  // The text of the page calls the member exceedTransferLimit.
  {
    operation: 'list organization',
    edition: 'more pages',
    source: 'organization web hooks',
    answer: [{ exceededTransferLimit: true, webhooks: [IN_ORGANIZATION, IN_ORGANIZATION] }],
  },
  {
    operation: 'list organization',
    edition: 'last page',
    source: 'organization web hooks',
    answer: [IN_ORGANIZATION, IN_ORGANIZATION],
  },
  // Printed with a comma after `numberOfFailures`.
  {
    operation: 'settings',
    source: 'webhook settings',
    answer: [{ notificationAttempts: '5', notificationTimeOutInSeconds: '3', numberOfFailures: '5' }],
  },
  // Printed for updateDefinition, the administration of the same services. The message is empty there.
  {
    operation: 'error',
    source: 'update definition',
    answer: { error: { code: 400, message: '', details: ['Unable to update feature service definition.'] } },
  },
].map((sample) => ({ product: 'online', ...sample, source: `${HOSTED}: ${sample.source}` }))

const POLICY = { deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 } }
const NOTEBOOK = {
  ...POLICY,
  properties: {
    federatedServer: {
      serverId: 't4IGVvF82xlnxjLT',
      itemId: '9a401d61f15a740baa81ab0616dc222',
      tokenTypeToSend: 'user',
      tokenExpirationTimeMinutes: '10',
    },
  },
}

const ALL_UPDATES = {
  id: '7c001f61f51e440baa81ab0616dc4143',
  accountId: '0123456789ABCDEF',
  payloadUrl: 'https://machineName:8000',
  secret: '',
  isActive: true,
  name: 'All Updates',
  config: POLICY,
  ownerId: '86ccfe86be2d490a8507eaea82749dc6',
  created: 1548281793118,
  modified: 1548281793118,
  events: ['/'],
}

const FLOW = {
  ...ALL_UPDATES,
  id: '35f930b31df64b62873127613d047a1b',
  payloadUrl:
    'https://app.logic.azure.com:443/workflows/b688528a36e246279dc050f936e5ebd4/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=made-Up0_sample-Value',
  name: 'Microsoft Flow',
  created: 1548289054928,
  modified: 1548289054928,
  events: ['/items'],
}

const delivered = (invokedTimestamp: string) => ({
  id: '7c001f61f51e440baa81ab0616dc4143',
  isInvoked: true,
  invokedTimestamp,
  responseText: '{"success":"true"}',
  payload:
    '{"info":{"webhookId":"7c001f61f51e440baa81ab0616dc4143","webhookName":"Webhook Test","portalURL":"https://portal.com/portalWA/","when":1548282404622},"events":[{"userId":"86ccfe86be2d490a8507eaea82749dc6","username":"admin","when":1548282404620,"operation":"share","source":"item","id":"d1e9a46a0b844e46a2d9ae6b581d0c3c","properties":{"sharedToGroups":"[Organization]"}}]}',
})
// The second payload is printed too; here it repeats the first.
const DELIVERIES = [delivered('2019-01-23 14:26:44.644'), delivered('2019-01-23 14:26:37.132')]

const portal: AdminSample[] = [
  { operation: 'list', source: 'webhooks', answer: { webhooks: [ALL_UPDATES] } },
  {
    operation: 'list',
    edition: 'notebook',
    source: 'webhooks',
    answer: { webhooks: [{ ...ALL_UPDATES, config: NOTEBOOK }] },
  },
  { operation: 'get', source: 'list a specific webhook', answer: FLOW },
  // The properties are those of the list.
  {
    operation: 'get',
    edition: 'notebook',
    source: 'list a specific webhook',
    answer: { ...FLOW, config: NOTEBOOK },
  },
  ...['delete', 'activate', 'deactivate', 'settings update'].map((operation) => ({
    operation,
    source: operation,
    answer: { success: true },
  })),
  {
    operation: 'failures',
    edition: 'with pages',
    source: 'notification status',
    answer: { total: 2, start: 1, num: 25, nextStart: -1, WebhookStatus: DELIVERIES },
  },
  {
    operation: 'failures',
    edition: 'without pages',
    source: 'notification status',
    answer: { WebhookStatus: DELIVERIES },
  },
  {
    operation: 'settings',
    source: 'webhook settings',
    answer: {
      notificationAttempts: 3,
      'notificationTimeOutInSeconds ': 10, // With the space, as printed.
      notificationElapsedTimeInSeconds: 5,
      featureServerMetricIntervalInMinutes: 10,
    },
  },
  // Not printed: the page prints only the success.
  { operation: 'error', source: 'delete', answer: { success: false } },
].map((sample) => ({ product: 'portal', ...sample, source: `${PORTAL}: ${sample.source}` }))

export const SAMPLES: readonly AdminSample[] = [...enterprise, ...online, ...portal]
