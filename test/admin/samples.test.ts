import { type Admin, createAdmin, type Webhook, type Webhooks } from 'geohook/admin'
import { expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'
import { type AdminSample, SAMPLES } from './samples.ts'
import { errorOf, listOf, membersOf } from './support.ts'

interface Case {
  /** The documented path of the operation, below the address of the administration. */
  path: string
  /** Other responses that the client needs, by path. */
  others?: Record<string, unknown>
  call(admin: Admin): Promise<unknown>
  expected: unknown
}

const FEATURES = '/services/myService.FeatureServer/webhooks'
const JOBS = '/services/myService.GPServer/webhooks'
const HOSTED = '/services/WebHooks/FeatureServer/WebHooks'
const PORTAL = '/portals/0123456789ABCDEF/webhooks'
const SELF = { '/portals/self': { id: '0123456789ABCDEF' } }

const answerOf = (product: string, operation: string, edition?: string) =>
  SAMPLES.find(
    (sample) => sample.product === product && sample.operation === operation && sample.edition === edition,
  )?.answer as Record<string, unknown>

const webhook = answerOf('enterprise', 'get')
const job: Record<string, unknown> = { ...answerOf('enterprise', 'edit', 'geoprocessing'), status: undefined }
const [hosted] = answerOf('online', 'list') as unknown as [Record<string, unknown>]
const [organization] = answerOf('portal', 'list').webhooks as [Record<string, unknown>]
const flow = answerOf('portal', 'get')

const features = (admin: Admin): Webhooks => admin.service('myService.FeatureServer')
const jobs = (admin: Admin): Webhooks => admin.service('myService.GPServer')
const hostedOf = (admin: Admin): Webhooks => admin.service('WebHooks.FeatureServer')

const list = async (webhooks: Pick<Webhooks, 'list'>): Promise<object[]> =>
  (await listOf(webhooks.list())).map(membersOf)

/** The members of a webhook that documentation and client call the same. */
const same = (raw: Record<string, unknown>, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, raw[name]]))

const SERVER_MEMBERS = ['id', 'name', 'hookUrl', 'changeTypes', 'active', 'contentType', 'payloadFormat']

const onServer = (raw: Record<string, unknown>, service: string) => ({
  product: 'enterprise',
  ...same(raw, ...SERVER_MEMBERS),
  service,
  key: raw.signatureKey,
  owner: 'webhookAdmin',
  created: new Date(raw.created as number),
  modified: new Date(raw.modified as number),
  ...(service.endsWith('.FeatureServer') && { schedule: raw.scheduleInfo }),
})

const inPortal = (raw: Record<string, unknown>, properties: unknown = {}) => ({
  product: 'portal',
  ...same(raw, 'id', 'name'),
  service: '',
  hookUrl: raw.payloadUrl,
  changeTypes: (raw.events as string[])[0] === '/' ? ['*'] : raw.events,
  active: true,
  key: '',
  deactivation: { numberOfFailures: 5, daysInPast: 5 },
  properties,
  owner: raw.ownerId,
  created: new Date(raw.created as number),
  modified: new Date(raw.modified as number),
})

const onHosted = (raw: Record<string, unknown>) => ({
  product: 'online',
  id: String(raw.id),
  name: raw.name,
  service: 'WebHooks.FeatureServer',
  hookUrl: 'https://webhookURL',
  changeTypes: ['*'],
  active: raw.active,
  key: undefined, // whether an empty key means none is not documented
  contentType: undefined,
  payloadFormat: 'json',
  schedule: raw.scheduleInfo,
  owner: 'eddie',
  created: new Date(raw.createdTime as number),
  modified: new Date(raw.lastUpdatedTime as number),
})

const inOrganization = {
  id: '5183',
  name: 'test_hook_1',
  owner: 'testAdmin1',
  service: '',
  hookUrl: undefined,
  active: undefined,
}

const notebook = {
  federatedServer: {
    serverId: 't4IGVvF82xlnxjLT',
    itemId: '9a401d61f15a740baa81ab0616dc222',
    tokenTypeToSend: 'user',
    tokenExpirationTimeMinutes: '10',
  },
}

const NOTHING_CHANGED = { changed: [], adjusted: [], notCompared: [] }
const unresolved = "The remote name could not be resolved: 'enc26xq7ana3f.x.pipedream.net33'"
const deliveries = ['44.644', '37.132'].map((seconds) => ({
  at: new Date(`2019-01-23T14:26:${seconds}Z`),
  isDelivered: true,
  response: '{"success":"true"}',
}))

/** An operation whose answer the client only has to accept. */
const accepted = (path: string, call: Case['call'], others: Case['others'] = {}): Case => ({
  path,
  others,
  call,
  expected: undefined,
})

const CASES: Record<string, Case> = {
  'enterprise list (geoprocessing)': {
    path: JOBS,
    call: (admin) => list(jobs(admin)),
    expected: [onServer(job, 'myService.GPServer')],
  },
  'enterprise get': {
    path: `${FEATURES}/${webhook.id}`,
    others: { [FEATURES]: { webhooks: [webhook] } },
    call: async (admin) => membersOf(await features(admin).get('WebHook1')),
    expected: onServer(webhook, 'myService.FeatureServer'),
  },
  'enterprise list site': {
    path: '/services/webhooks',
    call: list,
    expected: (answerOf('enterprise', 'list site').webhooks as Record<string, unknown>[]).map(
      (raw, index) => ({
        ...onServer(raw, `Hosted/fs_webhook_${index + 1}.FeatureServer`),
        changeTypes: ['*'],
      }),
    ),
  },
  'enterprise create': {
    path: `${FEATURES}/create`,
    // The first list is that of the check whether the name is free.
    others: {
      [FEATURES]: [{ webhooks: [] }, { webhooks: [webhook] }],
      [`${FEATURES}/${webhook.id}`]: webhook,
    },
    call: (admin) => features(admin).create({ name: 'WebHook1', hookUrl: webhook.hookUrl as string }),
    expected: expect.objectContaining({ adjusted: [], notCompared: [] }),
  },
  'enterprise edit (feature service)': {
    path: `${FEATURES}/${webhook.id}/edit`,
    others: { [FEATURES]: { webhooks: [webhook] }, [`${FEATURES}/${webhook.id}`]: webhook },
    call: (admin) => features(admin).edit('WebHook1', { active: true }),
    expected: expect.objectContaining(NOTHING_CHANGED),
  },
  'enterprise edit (geoprocessing)': {
    path: `${JOBS}/${job.id}/edit`,
    others: { [JOBS]: { webhooks: [job] }, [`${JOBS}/${job.id}`]: job },
    call: (admin) => jobs(admin).edit('WebHook1', { active: true }),
    expected: expect.objectContaining(NOTHING_CHANGED),
  },
  'enterprise delete': accepted(
    `${FEATURES}/${webhook.id}/delete`,
    (admin) => features(admin).delete('WebHook1'),
    { [FEATURES]: { webhooks: [webhook] } },
  ),
  'enterprise deleteAll': accepted(`${FEATURES}/deleteAll`, (admin) => features(admin).deleteAll()),
  'enterprise activateAll': accepted(`${FEATURES}/activateAll`, (admin) => features(admin).activateAll()),
  'enterprise deactivateAll': accepted(`${FEATURES}/deactivateAll`, (admin) =>
    features(admin).deactivateAll(),
  ),
  'enterprise failures': {
    path: `${FEATURES}/${webhook.id}/notificationStatus`,
    others: { [FEATURES]: { webhooks: [webhook] } },
    call: (admin) => features(admin).failures('WebHook1'),
    expected: [{ at: new Date(1695756823000), isDelivered: false }],
  },
  'enterprise error': {
    path: FEATURES,
    call: (admin) => errorOf(list(features(admin))),
    expected: expect.objectContaining({ code: 'admin_unauthorized', serviceCode: 499 }),
  },
  'online list': {
    path: HOSTED,
    call: (admin) => list(hostedOf(admin)),
    expected: (answerOf('online', 'list') as unknown as Record<string, unknown>[]).map(onHosted),
  },
  'online delete': accepted(`${HOSTED}/9/delete`, (admin) => hostedOf(admin).delete('WebHooks'), {
    [HOSTED]: [[hosted]],
  }),
  'online deleteAll': accepted(`${HOSTED}/deleteAll`, (admin) => hostedOf(admin).deleteAll()),
  'online activateAll': accepted(`${HOSTED}/activateAll`, (admin) => hostedOf(admin).activateAll()),
  'online deactivateAll': accepted(`${HOSTED}/deactivateAll`, (admin) => hostedOf(admin).deactivateAll()),
  'online failures': {
    path: `${HOSTED}/9/notificationStatus`,
    others: { [HOSTED]: [[hosted]] },
    call: (admin) => hostedOf(admin).failures('WebHooks'),
    expected: [1696452586477, 1696454892405].map((time) => ({
      at: new Date(time),
      isDelivered: false,
      response: unresolved,
    })),
  },
  'online list organization (more pages)': {
    path: '/WebHooks',
    others: { '/WebHooks': [answerOf('online', 'list organization', 'more pages'), []] },
    call: list,
    expected: [expect.objectContaining(inOrganization), expect.objectContaining(inOrganization)],
  },
  'online list organization (last page)': {
    path: '/WebHooks',
    call: list,
    expected: [expect.objectContaining(inOrganization), expect.objectContaining(inOrganization)],
  },
  'online settings': {
    path: '/WebHooks/webhookSettings',
    call: (admin) => admin.settings(),
    expected: { attempts: 5, pauseInSeconds: 3, numberOfFailures: 5 },
  },
  'online error': {
    path: HOSTED,
    call: (admin) => errorOf(list(hostedOf(admin))),
    expected: expect.objectContaining({
      code: 'admin_refused',
      serviceCode: 400,
      message: expect.stringMatching(/400: Unable to update feature service definition\. \(online at/),
    }),
  },
  'portal list': {
    path: PORTAL,
    call: (admin) => list(admin.portal()),
    expected: [inPortal(organization)],
  },
  'portal list (notebook)': {
    path: PORTAL,
    call: (admin) => list(admin.portal()),
    expected: [inPortal(organization, notebook)],
  },
  'portal get': {
    path: `${PORTAL}/${flow.id}`,
    others: { [PORTAL]: { webhooks: [flow] } },
    call: async (admin) => membersOf(await admin.portal().get('Microsoft Flow')),
    expected: inPortal(flow),
  },
  'portal get (notebook)': {
    path: `${PORTAL}/${flow.id}`,
    others: { [PORTAL]: { webhooks: [flow] } },
    call: async (admin) => membersOf(await admin.portal().get('Microsoft Flow')),
    expected: inPortal(flow, notebook),
  },
  'portal delete': accepted(
    `${PORTAL}/${flow.id}/delete`,
    (admin) => admin.portal().delete(flow.id as string),
    {
      [PORTAL]: { webhooks: [flow] },
    },
  ),
  'portal activate': accepted(`${PORTAL}/${flow.id}/activate`, (admin) => admin.portal().activateAll(), {
    [PORTAL]: { webhooks: [flow] },
  }),
  'portal deactivate': accepted(
    `${PORTAL}/${flow.id}/deactivate`,
    (admin) => admin.portal().deactivateAll(),
    {
      [PORTAL]: { webhooks: [flow] },
    },
  ),
  'portal settings': {
    path: `${PORTAL}/settings`,
    call: (admin) => admin.settings(),
    expected: { attempts: 3, timeoutInSeconds: 10, pauseInSeconds: 5 },
  },
  'portal settings update': {
    path: `${PORTAL}/settings/update`,
    others: { [`${PORTAL}/settings`]: answerOf('portal', 'settings') },
    call: (admin) => admin.editSettings({ attempts: 3 }),
    expected: { attempts: 3, timeoutInSeconds: 10, pauseInSeconds: 5 },
  },
  ...Object.fromEntries(
    ['with pages', 'without pages'].map((edition): [string, Case] => [
      `portal failures (${edition})`,
      {
        path: `${PORTAL}/${flow.id}/notificationStatus`,
        others: { [PORTAL]: { webhooks: [flow] } },
        call: (admin) => admin.portal().failures('Microsoft Flow'),
        expected: deliveries,
      },
    ]),
  ),
  'portal error': {
    path: `${PORTAL}/${flow.id}/delete`,
    others: { [PORTAL]: { webhooks: [flow] } },
    call: (admin) => errorOf(admin.portal().delete('Microsoft Flow')),
    expected: expect.objectContaining({
      code: 'admin_refused',
      message: expect.stringMatching(/gives no reason/),
    }),
  },
}

const BASES = { enterprise: '/admin', online: '/rest/admin', portal: '/sharing/rest' }
const titleOf = ({ product, operation, edition }: AdminSample) =>
  `${product} ${operation}${edition ? ` (${edition})` : ''}`

it('every sample has a case', () => {
  expect(Object.keys(CASES).sort()).toEqual(SAMPLES.map(titleOf).sort())
})

/** Starts a server. A list of answers has one for each request, and repeats the last. */
async function startWith(product: keyof typeof BASES, answers: Record<string, unknown>) {
  const requested: string[] = []
  const counts = new Map<string, number>()
  const { url } = await serve((req, res) => {
    const path = new URL(req.url ?? '', 'http://here').pathname.slice(BASES[product].length)
    requested.push(path)
    const given = answers[path]
    const count = counts.get(path) ?? 0
    counts.set(path, count + 1)
    const answer = Array.isArray(given) ? (given[count] ?? given.at(-1)) : given
    req.resume().on('end', () => {
      if (answer === undefined) res.writeHead(404).end(`no answer for ${path}`)
      else res.end(JSON.stringify(answer))
    })
  })
  return { admin: createAdmin({ url, product }), requested }
}

it.each(SAMPLES.map((sample) => [titleOf(sample), sample] as const))('%s', async (title, sample) => {
  const { path, others, call, expected } = CASES[title] as Case
  const { admin, requested } = await startWith(sample.product, {
    [path]: [sample.answer],
    ...SELF,
    ...others,
  })
  expect(await call(admin)).toEqual(expected)
  expect(requested).toContain(path)
})

it('takes the pages of an organization until the last one', async () => {
  const pages = ['more pages', 'last page'].map((edition) => answerOf('online', 'list organization', edition))
  const { admin } = await startWith('online', { '/WebHooks': pages })
  const listed: Webhook[] = await listOf(admin.list())
  expect(listed.map(({ id }) => id)).toEqual(Array(4).fill('5183'))
})
