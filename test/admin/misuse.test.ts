import { createAdmin, type Webhook } from 'geohook/admin'
import { expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'
import { errorOf, KEY, PRODUCTS, start } from './support.ts'

it.each(PRODUCTS)('%s: a name that is not text deletes and changes nothing', async (product) => {
  const { webhooks, mock } = await start(product)
  const before = mock.snapshot()
  for (const name of [undefined, null, '', 9] as unknown as string[])
    for (const run of [() => webhooks.delete(name), () => webhooks.edit(name, { name: 'x', key: KEY })])
      await expect(run()).rejects.toMatchObject({ code: 'config_invalid' })
  expect(mock.snapshot()).toEqual(before)
})

it('a webhook of another service or product, and a copy from JSON, is refused', async () => {
  const { admin, webhooks, mock } = await start('enterprise')
  const webhook = await webhooks.get('edits')
  const before = mock.snapshot()
  const others = [
    () => admin.service('Other.FeatureServer').delete(webhook),
    () => webhooks.delete({ ...webhook, product: 'service' } as Webhook),
    () => webhooks.delete(JSON.parse(JSON.stringify(webhook)) as Webhook),
  ]
  for (const run of others) await expect(run()).rejects.toMatchObject({ code: 'config_invalid' })
  expect(mock.snapshot()).toEqual(before)
})

it('two edits at once lose nothing', async () => {
  const { webhooks, mock } = await start('enterprise')
  const hookUrl = 'https://other.example/hook'
  await Promise.all([webhooks.edit('edits', { key: 'a new key' }), webhooks.edit('edits', { hookUrl })])
  expect(mock.snapshot().webhooks[0]).toMatchObject({ signatureKey: 'a new key', hookUrl })
})

it('an unset key, or the mark of a hidden part, is refused', async () => {
  const { webhooks, mock } = await start('enterprise')
  const before = mock.snapshot()
  for (const changes of [{ key: undefined }, { key: '***' }, { hookUrl: 'https://h.example/?sig=***' }])
    await expect(webhooks.edit('edits', changes as { key: string })).rejects.toMatchObject({
      code: 'config_invalid',
    })
  expect(mock.snapshot()).toEqual(before)
})

it.each(['.', '..', '', {}, ['a']])('an answer with the id %j is malformed', async (id) => {
  const { url } = await serve((_req, res) => void res.end(JSON.stringify({ webhooks: [{ id, name: 'n' }] })))
  const { code } = await errorOf(
    createAdmin({ url, product: 'enterprise' }).service('P.FeatureServer').delete('n'),
  )
  expect(code).toBe('admin_malformed')
})
