import type { ServiceVersion } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { type Route, routesOf } from '../../../src/mock/admin/operations.ts'
import { COMMON_PARAMETERS } from '../../../src/mock/http/operation.ts'
import { send } from '../../helpers/http.ts'
import { capture, FEATURE, post, same, seed, start } from '../support.ts'
import { auth, tokenOf } from './support.ts'

// The documentation is generated from a table of routes. These tests compare that table with the service.

const routes = routesOf({ version: '11.3', auth: auth() })
const operations = [...new Set(routes.map(({ operation }) => operation))]
const pathsOf = (operation: Route['operation']): string[] =>
  routes.filter((route) => route.operation === operation).map(({ path }) => path)
const seeds = [
  ...['', 'City'].map((folderName) => seed(FEATURE, { folderName, id: `w${folderName}` })),
  seed(FEATURE, { serviceType: 'Portal', serviceName: '0123456789ABCDEF', scheduleInfo: {}, id: 'wPortal' }),
]

/** Several families of paths have operations with the same name. */
const nameOf = (operation: Route['operation']): string =>
  `${operation.name}${routes.find((route) => route.operation === operation)?.family.name}`

function idIn(template: string): string {
  if (template.includes('{portalId}')) return 'wPortal'
  return template.includes('{folderName}') ? 'wCity' : 'w'
}

/** Fills in a path template with the names of one of the seeds. */
const fill = (template: string): string =>
  template
    .replace('{folderName}', 'City')
    .replace('{service}', 'Parcels.FeatureServer')
    .replace('{serviceName}', 'Parcels')
    .replace('{portalId}', 'self')
    .replace('{webhookId}', idIn(template))

describe.each(operations.map((operation) => [nameOf(operation), operation] as const))(
  '%s',
  (_, operation) => {
    it.each(pathsOf(operation))('%s accepts only its own methods', async (template) => {
      // A portal announces a webhook to its URL, which must respond.
      const { url } = await capture()
      const service = await start(seeds, { auth: auth() })
      const token = await tokenOf(service, 'both')
      const before = service.snapshot()
      for (const method of ['GET', 'POST', 'PUT'] as const) {
        service.restore(before)
        const { text, status } = await send(service.url + fill(template), {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/x-www-form-urlencoded',
          },
          ...(method === 'POST'
            ? {
                body: new URLSearchParams({
                  ...same(FEATURE),
                  name: 'new',
                  url,
                  ownerFrom: 'alice',
                }).toString(),
              }
            : {}),
        })
        const isTaken = (operation.methods as readonly string[]).includes(method)
        // A request for a token fails, because these parameters contain no password.
        const taken = operation.scope === 'root' && operation.needs ? 400 : 200
        expect([text, status]).toEqual([expect.any(String), isTaken ? taken : 405])
      }
    })

    /** Parameters that a request may repeat, because the service accepts several values or ignores them. */
    const REPEATABLE = ['changeTypes', 'events', 'referer', 'ip', 'serverUrl']

    it('reads every parameter that it describes', async () => {
      const service = await start(seeds)
      const withTokens = await start(seeds, { auth: auth() })
      const path = fill(pathsOf(operation)[0] as string)
      for (const { name } of [...(operation.parameters ?? []), ...COMMON_PARAMETERS]) {
        if (REPEATABLE.includes(name) || (operation.scope === 'root' && name === 'token')) continue
        const { status, body } = await post(operation.scope === 'root' ? withTokens : service, path, [
          [name, 'json'],
          [name, 'json'],
        ])
        expect(status).toBe(400)
        const { details = [], message } = (body.error ?? {}) as { details?: string[]; message?: string }
        expect([body.messages, message, details].flat()).toContain(`${name} is given more than once`)
      }
    })
  },
)

it('the names and the paths of the operations are unique', () => {
  const names = operations.map(nameOf)
  expect(new Set(names).size).toBe(names.length)
  const paths = routes.map(({ path }) => path)
  expect(new Set(paths).size).toBe(paths.length)
})

it.each<[ServiceVersion, hasTokens: boolean, count: number]>([
  ['11.1', false, 12],
  ['11.1', true, 15],
  ['11.2', false, 15],
  ['11.3', true, 18],
])(
  '%s, with tokens: %s: %i operations under the paths of the specification and the portal',
  (version, hasTokens, count) => {
    const found = routesOf({ version, auth: hasTokens ? auth() : undefined }).filter(
      ({ family }) => family.name === '',
    )
    expect(new Set(found.map(({ operation }) => operation)).size).toBe(count)
  },
)
