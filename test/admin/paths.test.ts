import { describe, expect, it } from 'vitest'
import { errorOf, listOf, start, stored } from './support.ts'

const { id } = stored('enterprise')
const LONG = '/admin/services/Parcels.FeatureServer/webhooks'
const SHORT = '/admin/services/Parcels.FeatureServer'

describe('ArcGIS Enterprise on Kubernetes, whose edit and delete lack the word webhooks', () => {
  /** Starts a server that has only the short paths. */
  const startShort = () =>
    start('enterprise', {
      before(req, res) {
        const [, operation] = new RegExp(`/${id}/(edit|delete)$`).exec(String(req.url)) ?? []
        if (!operation) return false
        if (req.url === `${SHORT}/${id}/${operation}`) {
          req.url = `${LONG}/${id}/${operation}`
          return false
        }
        req.resume().on('end', () => res.writeHead(404).end('<h1>Not Found</h1>'))
        return true
      },
    })

  it.each(['edit', 'delete'] as const)('%s is sent once in the other form', async (operation) => {
    const { mock, webhooks, sent } = await startShort()
    if (operation === 'edit') await webhooks.edit('edits', { name: 'renamed' })
    else await webhooks.delete('edits')
    expect(mock.snapshot().webhooks.map(({ name }) => name)).toEqual(operation === 'edit' ? ['renamed'] : [])
    const writes = sent.filter(({ method }) => method === 'POST').map(({ path }) => path)
    expect(writes).toEqual([LONG, SHORT].map((path) => `${path}/${id}/${operation}`))
  })

  it('a server with neither path: not found', async () => {
    const { mock, webhooks, sent } = await start('enterprise', {
      before(req) {
        if (req.method === 'POST') req.url = '/nowhere'
        return false
      },
    })
    const before = mock.snapshot()
    expect((await errorOf(webhooks.edit('edits', { name: 'renamed' }))).code).toBe('admin_not_found')
    expect([mock.snapshot(), sent.filter(({ method }) => method === 'POST').length]).toEqual([before, 2])
  })
})

describe('the two ids of ArcGIS Online', () => {
  const { id: globalId } = stored('online')

  it('a webhook is found by both, and the documented one is in the paths', async () => {
    const { webhooks, sent } = await start('online')
    const [webhook] = await listOf(webhooks.list())
    expect(webhook?.id).toMatch(/^\d+$/)
    for (const name of [globalId, webhook?.id ?? '']) expect((await webhooks.get(name)).id).toBe(webhook?.id)
    await webhooks.edit(globalId, { name: 'renamed' })
    const paths = sent.map(({ path }) => path.split('/WebHooks/')[1]).filter(Boolean)
    expect(new Set(paths)).toEqual(new Set([webhook?.id, `${webhook?.id}/edit`]))
  })

  it('a server that knows only globalId', async () => {
    const { mock, webhooks } = await start('online', {
      before(req) {
        req.url = req.url?.replace(/\/WebHooks\/\d+/, '/WebHooks/none')
        return false
      },
    })
    await webhooks.edit('edits', { name: 'renamed' })
    expect(mock.snapshot().webhooks[0]?.name).toBe('renamed')
    expect(await webhooks.failures('renamed')).toEqual([])
    await webhooks.delete('renamed')
    expect(mock.snapshot().webhooks).toEqual([])
  })
})

it.each([
  ['service', '/services/City%20%26/Stra%C3%9Fe%3F.FeatureServer/webhooks'],
  ['enterprise', '/admin/services/City%20%26/Stra%C3%9Fe%3F.FeatureServer/webhooks'],
  ['online', '/rest/admin/services/City%20%26/Stra%C3%9Fe%3F/FeatureServer/WebHooks'],
] as const)('%s: escapes the names in a path', async (product, path) => {
  const webhook = stored(product, { folderName: 'City &', serviceName: 'Straße?' })
  const { admin, sent } = await start(product, { webhooks: [webhook] })
  const listed = await listOf(admin.service('City &/Straße?.FeatureServer').list())
  expect(listed.map(({ name }) => name)).toEqual(['edits'])
  expect(sent.map((request) => request.path)).toEqual([path])
})
