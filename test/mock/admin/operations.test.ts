import type { ServiceVersion } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { COMMON_PARAMETERS, type Route, routesOf } from '../../../src/mock/admin/operations.ts'
import { send } from '../../helpers/http.ts'
import { FEATURE, post, same, seed, start } from '../support.ts'
import { auth, tokenOf } from './support.ts'

// The documentation is generated from a table of routes. These tests compare that table with the service.

const routes = routesOf('11.3', true)
const operations = [...new Set(routes.map(({ operation }) => operation))]
const pathsOf = (operation: Route['operation']): string[] =>
  routes.filter((route) => route.operation === operation).map(({ path }) => path)
const seeds = ['', 'City'].map((folderName) => seed(FEATURE, { folderName, id: `w${folderName}` }))

/** Several families of paths have operations with the same name. */
const nameOf = (operation: Route['operation']): string =>
  `${operation.name}${routes.find((route) => route.operation === operation)?.family.name}`

/** Fills in a path template with the names of one of the seeds. */
const fill = (template: string): string =>
  template
    .replace('{folderName}', 'City')
    .replace('{service}', 'Parcels.FeatureServer')
    .replace('{serviceName}', 'Parcels')
    .replace('{webhookId}', template.includes('{folderName}') ? 'wCity' : 'w')

describe.each(operations.map((operation) => [nameOf(operation), operation] as const))(
  '%s',
  (_, operation) => {
    it.each(pathsOf(operation))('%s accepts only its own methods', async (template) => {
      for (const method of ['GET', 'POST', 'PUT'] as const) {
        const service = await start(seeds, { auth: auth() })
        const token = await tokenOf(service, 'both')
        const { text, status } = await send(service.url + fill(template), {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/x-www-form-urlencoded',
          },
          ...(method === 'POST'
            ? { body: new URLSearchParams({ ...same(FEATURE), name: 'new' }).toString() }
            : {}),
        })
        const isTaken = (operation.methods as readonly string[]).includes(method)
        // A request for a token fails, because these parameters contain no password.
        const taken = operation.name === 'generateToken' ? 400 : 200
        expect([text, status]).toEqual([expect.any(String), isTaken ? taken : 405])
      }
    })

    /** Parameters that a request may repeat, because the service accepts several values or ignores them. */
    const REPEATABLE = ['changeTypes', 'referer', 'ip']

    it('reads every parameter that it describes', async () => {
      const service = await start(seeds)
      const withTokens = await start(seeds, { auth: auth() })
      const path = fill(pathsOf(operation)[0] as string)
      for (const { name } of [...operation.parameters, ...COMMON_PARAMETERS]) {
        if (REPEATABLE.includes(name) || (operation.scope === 'root' && name === 'token')) continue
        const { status, body } = await post(operation.scope === 'root' ? withTokens : service, path, [
          [name, 'json'],
          [name, 'json'],
        ])
        expect(status).toBe(400)
        expect(body.messages).toContain(`${name} is given more than once`)
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
  ['11.1', false, 8],
  ['11.1', true, 9],
  ['11.2', false, 11],
  ['11.3', true, 12],
])('%s, with tokens: %s: %i operations under the paths of the specification', (version, hasTokens, count) => {
  const ofSpecification = routesOf(version, hasTokens).filter(({ family }) => family.name === '')
  expect(new Set(ofSpecification.map(({ operation }) => operation)).size).toBe(count)
})
