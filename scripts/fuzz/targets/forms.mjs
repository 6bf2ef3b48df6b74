// The administration of the mock service answers a form with a documented error (AdminError), or with a JSON object.
// After a change, every webhook that it has saved fits the schema of snapshots, and the service can be restored from the
// snapshot with the same result.
//
// An input is a character that selects the service, the method, the path with a query, a line break, the content type, a
// line break, and the body.
import { isDeepStrictEqual } from 'node:util'
import { ANONYMOUS } from '../../../src/mock/admin/operation.ts'
import { routesOf } from '../../../src/mock/admin/operations.ts'
import { runOperation } from '../../../src/mock/admin/routes.ts'
import { toAdminError } from '../../../src/mock/http/errors.ts'
import { readForm, readFormat, readQuery, splitUrl } from '../../../src/mock/http/request.ts'
import { createMatcher } from '../../../src/mock/http/router.ts'
import { Mock } from '../../../src/mock/service.ts'
import { toSnapshot } from '../../../src/mock/state/snapshot.ts'
import { require, splitLine } from './support.mjs'

const STATUSES = [400, 401, 403, 404, 405, 413, 415, 498, 499]
const hook = { hookUrl: 'http://127.0.0.1/hook', created: 1_700_000_000_000 }
const webhooks = [
  { ...hook, id: 'w1', serviceName: 'Parcels', serviceType: 'FeatureServer', name: 'one' },
  { ...hook, id: 'w2', serviceName: 'Buffer', serviceType: 'GPServer', name: 'two' },
  { ...hook, id: 'w3', serviceName: '0123456789ABCDEF', serviceType: 'Portal', name: 'three' },
]
const clock = { now: () => 1_800_000_000_000, wait: () => new Promise(() => {}) }
const MOCKS = ['service', { omitted: 'reset' }, { product: 'online', handshake: false }, 'portal'].map(
  (like) => create({ like }),
)

export const words = [
  ...[
    'POST',
    'GET',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'w1',
    'w2',
    'w3',
    '--x',
  ],
  ...[
    '%5B%22*%22%5D',
    'FeaturesCreated',
    'http://127.0.0.1/',
    'scheduleInfo=',
    '{"recurrenceInfo":',
    '"interval":',
  ],
  ...[
    '"frequency":"second"',
    '"startAt":1',
    '"state":"enabled"',
    'deactivationPolicy',
    'allChanges',
    '/items/add',
  ],
]
const FORM = 'application/x-www-form-urlencoded\n'
export const seeds = [
  `0POST /services/Parcels/FeatureServer/webhooks/create\n${FORM}name=a&hookUrl=http://127.0.0.1/&changeTypes=FeaturesCreated&active=true&scheduleInfo={"name":"a","state":"enabled","startAt":1,"recurrenceInfo":{"interval":20,"frequency":"second"}}&payloadFormat=json`,
  `1POST /services/Parcels/FeatureServer/webhooks/w1/edit\n${FORM}name=a&hookUrl=http://127.0.0.1/&changeTypes=["*"]&signatureKey=k&contentType=application/json`,
  `0POST /services/Buffer/GPServer/webhooks/w2/edit\n${FORM}name=a&hookUrl=http://127.0.0.1/`,
  `0POST /admin/services/Buffer.GPServer/webhooks/create\nmultipart/form-data; boundary=x\n--x\r\nContent-Disposition: form-data; name="name"\r\n\r\na\r\n--x--`,
  `0POST /services/webhooks/settings\n${FORM}notificationAttempts=3&daysInPast=5`,
  `3POST /sharing/rest/portals/self/webhooks/createWebhook\n${FORM}name=a&url=http://127.0.0.1/&events=/items&config={"deactivationPolicy":{"numberOfFailures":5,"daysInPast":5}}`,
  `3POST /sharing/rest/portals/self/webhooks/w3/update\n${FORM}name=b&secret=&changes=manualChanges&events=["/items/add"]`,
  '0GET /services/Parcels/FeatureServer/webhooks?f=json\n\n',
]
for (const { match, paths } of MOCKS.slice(0, 1).concat(MOCKS[3])) {
  const number = match === MOCKS[0].match ? 0 : 3
  for (const path of paths)
    seeds.push(`${number}POST ${path}\n${FORM}name=a&hookUrl=http://127.0.0.1/&changeTypes=*`)
}

export async function run(input) {
  const [line, rest] = splitLine(input)
  const [contentType, content] = splitLine(rest)
  const [, selector, method, url] = /^(.)(GET|POST) (.*)$/s.exec(line) ?? []
  if (selector === undefined) return
  const { mock, match, context, seed } = MOCKS[selector.charCodeAt(0) & 3]
  try {
    const { path, query } = splitUrl(url)
    const found = match(path)
    const operation = found?.routes[0].operation
    if (!operation?.methods.includes(method)) return
    const inQuery = readQuery(query)
    readFormat(inQuery)
    const { parameters } = method === 'GET' ? { parameters: inQuery } : await readForm(content, contentType)
    readFormat(parameters)
    const call = { context, method, parameters, origin: 'http://a' }
    const body = await runOperation(operation, found.names, call, async () => ANONYMOUS)
    require(typeof body === 'object' && JSON.stringify(body) !== undefined, 'the body is not JSON')
    if (!operation.changes) return
    requireRestorable(mock)
    mock.restore(seed)
  } catch (error) {
    // Other errors become 500, but are findings here.
    if (toAdminError(error).status === 500) throw error
    require(STATUSES.includes(toAdminError(error).status), 'undocumented status', toAdminError(error).status)
  }
}

function create(options) {
  const mock = new Mock({ ...options, clock, webhooks })
  const routes = routesOf(mock.options)
  const attempt = {
    webhookId: '',
    sentAt: 0,
    request: { body: Buffer.alloc(0) },
    answer: { status: 200, body: '' },
  }
  // Registrations are the only requests that the administration waits for.
  const engine = { log: mock.engine.log, register: async () => attempt }
  const context = { ...mock, save: async () => {}, engine }
  const ids = { '{service}': 'Parcels/FeatureServer', '{webhookId}': 'w1', '{portalId}': 'self' }
  const paths = routes.map(({ path }) => path.replaceAll(/\{\w+\}/g, (name) => ids[name] ?? 'Parcels'))
  return { mock, match: createMatcher(routes), context, seed: toSnapshot(mock.state), paths }
}

function requireRestorable(mock) {
  const snapshot = toSnapshot(mock.state)
  try {
    mock.restore(snapshot)
  } catch (error) {
    throw new Error(`a saved webhook does not fit its schema: ${error.message}`)
  }
  require(isDeepStrictEqual(toSnapshot(mock.state), snapshot), 'the restored snapshot differs')
}
