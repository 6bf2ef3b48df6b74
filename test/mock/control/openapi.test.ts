import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { createTokens, type MockServiceOptions } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { capture, FEATURE, JOB, seed, start } from '../support.ts'

// biome-ignore lint/suspicious/noExplicitAny: the tests read deeply nested members of the document
type Document = any

const USER = { username: 'ann', password: 'secret', privileges: ['geoprocessing', 'features'] as const }
const APP = { username: 'app', password: 'shh', privileges: USER.privileges }
const METHODS = ['get', 'post', 'put', 'delete', 'patch']

async function startDescribed(options: MockServiceOptions = {}) {
  const receiver = await capture()
  const webhooks = [
    seed(FEATURE, { hookUrl: receiver.url }),
    seed(JOB),
    seed(FEATURE, { folderName: 'City', id: 'city' }),
    seed(FEATURE, {
      serviceType: 'Portal',
      serviceName: '0123456789ABCDEF',
      id: 'portal',
      hookUrl: receiver.url,
      scheduleInfo: {},
      config: { deactivationPolicy: { numberOfFailures: 5, daysInPast: 5 } },
    }),
  ]
  const service = await start(webhooks, options)
  const document: Document = await (await fetch(`${service.url}/_mock/openapi.json`)).json()
  return { service, document, receiver }
}

const versions = [
  { version: '11.1', auth: false },
  { version: '11.3', auth: true },
] as const

const optionsOf = ({ version, auth }: (typeof versions)[number]): MockServiceOptions => ({
  version,
  ...(auth ? { auth: createTokens({ users: [USER, APP] }) } : {}),
})

/** Shared by all tests, because each instance compiles the schema of OpenAPI again. */
const validator = new Validator()

describe.each(versions)('version $version, with tokens: $auth', (configuration) => {
  it('the document is valid OpenAPI 3.1', async () => {
    const { document } = await startDescribed(optionsOf(configuration))
    const { valid, errors } = await validator.validate(document)
    expect(errors ?? []).toEqual([])
    expect([valid, validator.version]).toEqual([true, '3.1'])
    const ids = Object.values<object>(document.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('contains the operations of the version, and no others', async () => {
    const { document } = await startDescribed(optionsOf(configuration))
    const later = [
      '/services/webhooks',
      '/services/webhooks/settings',
      '/services/{service}/webhooks/{webhookId}/notificationStatus',
    ]
    for (const path of later) expect(path in document.paths, path).toBe(configuration.version !== '11.1')
    expect('/generateToken' in document.paths).toBe(configuration.auth)
  })
})

async function tokenOf(url: string): Promise<string> {
  const body = new URLSearchParams({ username: 'ann', password: 'secret', f: 'json' })
  const response = await fetch(`${url}/generateToken`, { method: 'POST', body })
  return ((await response.json()) as { token: string }).token
}

/** Replaces the parameters in a path with real values. */
function fill(path: string): string {
  const folder = path.includes('{folderName}')
  return path
    .replace('{folderName}', 'City')
    .replace('{service}', 'Parcels.FeatureServer')
    .replace('{serviceName}', 'Parcels')
    .replace('{layerId}', '0')
    .replace('{objectId}', '1')
    .replace('{attachmentId}', '1')
    .replace('{portalId}', 'self')
    .replace('{webhookId}', path.includes('/portals/') ? 'portal' : folder ? 'city' : FEATURE.id)
}

describe('the document matches the service', () => {
  it('every path accepts the documented methods, and refuses all others', async () => {
    const { service, document } = await startDescribed()
    const before = service.snapshot()
    for (const [template, item] of Object.entries<Document>(document.paths)) {
      const described = METHODS.filter((method) => method in item)
      for (const method of METHODS.filter((method) => !described.includes(method))) {
        const response = await fetch(service.url + fill(template).replace('{id}', 'x'), {
          method: method.toUpperCase(),
        })
        expect([template, method, response.status]).toEqual([template, method, 405])
        const allowed = (response.headers.get('allow') ?? '').toLowerCase().split(', ')
        expect(allowed.filter((name) => name !== 'head')).toEqual(described)
        await response.arrayBuffer()
      }
    }
    expect(service.snapshot()).toEqual(before)
  })

  /** The body for each operation that requires one. */
  const FORMS: Record<string, Record<string, string>> = {
    create: { name: 'new', hookUrl: 'http://127.0.0.1:9/new' },
    edit: { name: 'edited', changeTypes: '*', hookUrl: 'http://127.0.0.1:9/edited' },
    settings: { notificationAttempts: '2' },
    reassignOwner: { ownerFrom: 'alice' },
    generateToken: { username: 'ann', password: 'secret', client: 'referer', expiration: '5' },
    token: { client_id: 'app', client_secret: 'shh', grant_type: 'client_credentials' },
  }
  const BODIES: Record<string, object> = {
    '/_mock/trigger': { serviceName: 'Parcels', folderName: '', changeType: 'FeaturesCreated' },
    '/_mock/faults': { fault: 'gzip', times: 1 },
    '/_mock/settings': { daysInPast: 6 },
    '/_mock/clock': { advance: 0 },
    '/_mock/restore': { services: [] },
  }

  it.each(versions)(
    'every operation responds as documented: version $version, with tokens: $auth',
    async (configuration) => {
      const { service, document, receiver } = await startDescribed(optionsOf(configuration))
      const snapshot = service.snapshot()
      const ajv = new Ajv2020({ strict: false, allErrors: true })
      ajv.addSchema({ $id: 'doc', ...document })
      const validatorOf = (name: string): ValidateFunction =>
        ajv.getSchema(`doc#/components/schemas/${name}`) as ValidateFunction
      const token = configuration.auth ? await tokenOf(service.url) : undefined
      let checked = 0
      for (const [template, item] of Object.entries<Document>(document.paths)) {
        for (const [method, operation] of Object.entries<Document>(item)) {
          service.restore(snapshot)
          const [attempt] = await service.trigger({
            serviceName: 'Parcels',
            folderName: '',
            changeType: 'FeaturesCreated',
          })
          const [fault] = [service.faults.add({ fault: 'altered' })]
          const id = template.includes('/faults') ? fault?.id : attempt?.id
          const segment = template.split('/').at(-1) ?? ''
          const isForm = 'application/x-www-form-urlencoded' in (operation.requestBody?.content ?? {})
          const init: RequestInit = {
            method: method.toUpperCase(),
            headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
          }
          if (isForm) init.body = new URLSearchParams(FORMS[segment] ?? {})
          // A portal announces a webhook to its URL, which must respond.
          if (segment === 'createWebhook') init.body = new URLSearchParams({ name: 'new', url: receiver.url })
          if (template in BODIES && method === 'post') {
            init.headers = { ...init.headers, 'content-type': 'application/json' }
            init.body = JSON.stringify(BODIES[template])
          }
          if (template === '/_mock/events') init.signal = AbortSignal.timeout(60_000)
          const response = await fetch(service.url + fill(template).replace('{id}', String(id)), init)
          const name = `${method} ${template}`
          const described = operation.responses[response.status]
          expect([name, response.status, described !== undefined]).toEqual([name, 200, true])
          const type = response.headers.get('content-type')?.split(';')[0] ?? ''
          expect(Object.keys(described.content), name).toContain(type)
          service.faults.clear()
          if (type === 'text/event-stream') {
            await response.body?.cancel()
            continue
          }
          const schema: string | undefined = described.content[type].schema?.$ref
          if (schema) {
            const validate = validatorOf(schema.split('/').at(-1) as string)
            const valid = validate(await response.json())
            expect([name, valid, validate.errors]).toEqual([name, true, null])
            checked += 1
          } else await response.arrayBuffer()
        }
      }
      expect(checked).toBeGreaterThan(30)
    },
  )

  it.each(['rest', 'always200'] as const)('errors are as documented: httpStatus %s', async (httpStatus) => {
    const { service, document } = await startDescribed({ like: { httpStatus } })
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema({ $id: 'doc', ...document })
    const template = '/services/{service}/webhooks/{webhookId}'
    const path = template.replace('{service}', 'Parcels.FeatureServer').replace('{webhookId}', 'unknown')
    for (const f of ['json', 'html']) {
      const response = await fetch(`${service.url}${path}?f=${f}`)
      const { responses } = document.paths[template].get
      const described = responses[response.status] ?? document.components.responses.Error
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      expect(Object.keys(described.content)).toContain(type)
      if (f === 'html') continue
      const pointer = responses[response.status]
        ? `/paths/${template.replaceAll('~', '~0').replaceAll('/', '~1')}/get/responses/200/content/application~1json/schema`
        : '/components/schemas/Error'
      const validate = ajv.getSchema(`doc#${pointer}`) as ValidateFunction
      expect([validate(await response.json()), validate.errors]).toEqual([true, null])
    }
  })

  it('errors have the documented shape', async () => {
    const { service, document } = await startDescribed()
    const ajv = new Ajv2020({ strict: false })
    ajv.addSchema({ $id: 'doc', ...document })
    const validate = ajv.getSchema('doc#/components/schemas/Error') as ValidateFunction
    for (const path of [
      '/_mock/nothing',
      '/_mock/deliveries?limit=x',
      '/services/Nothing.FeatureServer/webhooks',
      '/nothing',
    ]) {
      expect([path, validate(await (await fetch(service.url + path)).json())]).toEqual([path, true])
    }
  })
})
