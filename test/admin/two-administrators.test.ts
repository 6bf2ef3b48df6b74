import type { Webhook } from 'geohook/admin'
import type { WebhookChanges } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { errorOf, listOf, PRODUCTS, type Product, type Sent, type Started, start, stored } from './support.ts'

/** An edit of another administrator: the client's name of the member, and the change in the mock's words. */
interface OtherEdit {
  product: Product
  member: string
  changes: WebhookChanges
}

const OTHER_EDITS: readonly [member: string, changes: WebhookChanges, products: readonly Product[]][] = [
  ['name', { name: 'theirs' }, PRODUCTS],
  ['key', { signatureKey: 'their-key-2026' }, PRODUCTS],
  ['hookUrl', { hookUrl: '/hook/theirs' }, PRODUCTS],
  ['active', { active: false }, PRODUCTS],
  ['changeTypes', { changeTypes: ['FeaturesDeleted'] }, ['service', 'enterprise', 'online']],
  ['schedule', { scheduleInfo: { state: 'enabled' } }, ['service', 'enterprise', 'online']],
  ['payloadFormat', { payloadFormat: 'json' }, ['service', 'enterprise', 'online']],
  ['changeTypes', { changeTypes: ['/users'] }, ['portal']],
  [
    'deactivation',
    {
      config: { deactivationPolicy: { numberOfFailures: 1, daysInPast: 1 }, properties: { notebook: 'n1' } },
    },
    ['portal'],
  ],
]

const rows: OtherEdit[] = OTHER_EDITS.flatMap(([member, changes, products]) =>
  products.map((product) => ({ product, member, changes })),
)

const isWrite = ({ path }: Sent): boolean => /\/(edit|update)$/.test(path)
const isChange = ({ path }: Sent): boolean => /\/(edit|update|delete|(de)?activate)$/.test(path)

/** @param isHeld whether the request is held until another administrator has edited the webhook */
async function startWith(
  { product, changes }: Pick<OtherEdit, 'product' | 'changes'>,
  isHeld: (sent: readonly Sent[]) => boolean = () => false,
): Promise<Started & { theirEdit: () => Promise<unknown> }> {
  let isEdited = false
  const started = await start(product, {
    async before() {
      if (isEdited || !isHeld(started.sent)) return false
      isEdited = true
      await theirEdit()
      return false
    },
  })
  const { mock, url } = started
  const webhook = stored(product, { hookUrl: `${url}/hook/ours` })
  mock.restore({ webhooks: [webhook] })
  const { hookUrl } = changes
  const theirEdit = () =>
    mock.edit(webhook.id, { ...changes, ...(hookUrl !== undefined && { hookUrl: url + hookUrl }) })
  return { ...started, theirEdit }
}

const beforeWrite = (sent: readonly Sent[]): boolean => isWrite(sent.at(-1) as Sent)
const afterWrite = (sent: readonly Sent[]): boolean => sent.slice(0, -1).some(isWrite)

/** The stored webhook, without the time and the user of its last edit. */
function shown({ mock }: Started): object {
  const { modified, modifiedId, ...others } = mock.snapshot().webhooks[0] ?? stored('service')
  return others
}

it.each(rows)(
  '$member of a webhook of $product is edited after the write, and before the client reads it again: conflict',
  async (row) => {
    const started = await startWith(row, afterWrite)
    const before = shown(started)
    const error = await errorOf(started.webhooks.edit('edits', { name: 'ours' }))
    expect([error.code, error.different?.map(({ member }) => member)]).toEqual([
      'admin_conflict',
      [row.member],
    ])
    expect(error.result?.changed).toContain(row.member)
    const { hookUrl } = row.changes
    const theirs = { ...row.changes, ...(hookUrl !== undefined && { hookUrl: started.url + hookUrl }) }
    const { scheduleInfo } = stored(row.product)
    const schedule =
      'scheduleInfo' in theirs ? { scheduleInfo: { ...scheduleInfo, ...theirs.scheduleInfo } } : {}
    expect(shown(started)).toEqual({ ...before, name: 'ours', ...theirs, ...schedule })
  },
)

it.each(rows)(
  'a webhook of $product whose $member was edited since it was read is not written',
  async (row) => {
    const started = await startWith(row)
    const { mock, webhooks, sent, theirEdit } = started
    const seen = await webhooks.get('edits')
    await theirEdit()
    // Its time is that of the read, so that only the member shows the edit.
    const { modified } = stored(row.product)
    mock.restore({ webhooks: mock.snapshot().webhooks.map((edited) => ({ ...edited, modified })) })
    const theirs = mock.snapshot()
    for (const call of [webhooks.delete, (name: Webhook) => webhooks.edit(name, { name: 'ours' })]) {
      const error = await errorOf(call(seen))
      expect([error.code, error.result]).toEqual(['admin_conflict', undefined])
    }
    expect([mock.snapshot(), sent.some(isChange)]).toEqual([theirs, false])
  },
)

const some = rows.filter(({ member }) => member === 'name' || member === 'active')

describe.each(some)('another administrator edits $member of a webhook of $product', (row) => {
  it('before the client reads it, and it was not seen: both edits are kept', async () => {
    const started = await startWith(row)
    const { webhooks, theirEdit } = started
    const { id } = await webhooks.get('edits')
    await theirEdit()
    const theirs = shown(started)
    await webhooks.edit(id, { name: 'ours' })
    expect(shown(started)).toEqual({ ...theirs, name: 'ours' })
  })

  it('between the read and the write: their edit is overwritten', async () => {
    const started = await startWith(row, beforeWrite)
    const before = shown(started)
    // A portal switches its webhooks with operations of their own.
    const isSwitch = row.product === 'portal' && row.member === 'active'
    const edit = started.webhooks.edit('edits', { name: 'ours' })
    if (isSwitch) expect((await errorOf(edit)).code).toBe('admin_conflict')
    else expect((await edit).changed).toEqual(['name'])
    expect(shown(started)).toEqual({ ...before, name: 'ours', ...(isSwitch && row.changes) })
  })
})

describe.each(PRODUCTS)('%s', (product) => {
  it('ignores an edit of another client that leaves everything as requested', async () => {
    const { webhooks } = await startWith({ product, changes: { name: 'ours' } }, afterWrite)
    expect((await webhooks.edit('edits', { name: 'ours' })).changed).toEqual(['name'])
  })

  it('a webhook that is as it was read is changed without a lookup', async () => {
    const { webhooks, sent, mock } = await startWith({ product, changes: {} })
    const [seen] = await listOf(webhooks.list())
    sent.length = 0
    const { webhook, changed } = await webhooks.edit(seen as Webhook, { name: 'ours' })
    expect(changed).toEqual(['name'])
    await webhooks.deactivate(webhook)
    await webhooks.delete(await webhooks.get(webhook.id))
    expect(mock.snapshot().webhooks).toEqual([])
    const isList = ({ path }: Sent): boolean => /webhooks$/i.test(path)
    expect(sent.filter(isList).length).toBe(1) // of get()
  })

  it('a webhook that was read does not lead to another one whose name is its id', async () => {
    const { webhooks, mock } = await startWith({ product, changes: {} })
    const [seen] = (await listOf(webhooks.list())) as [Webhook]
    const impostor = stored(product, { id: '22222222-2222-4222-8222-222222222222', name: seen.id })
    mock.restore({ webhooks: [impostor] })
    const { deactivate, edit, failures, get } = webhooks
    for (const change of [
      deactivate,
      failures,
      get,
      webhooks.delete,
      (given: Webhook) => edit(given, { name: 'x' }),
    ])
      expect((await errorOf(change(seen))).code).toBe('admin_not_found')
    expect(mock.snapshot().webhooks).toEqual([impostor])
  })

  it('a webhook that was edited back, so that only its time differs, is not written', async () => {
    const { webhooks, mock, url } = await startWith({ product, changes: {} })
    const seen = await webhooks.get('edits')
    const theirs = stored(product, { hookUrl: `${url}/hook/ours`, modified: stored(product).modified + 1 })
    mock.restore({ webhooks: [theirs] })
    expect((await errorOf(webhooks.edit(seen, { name: 'ours' }))).code).toBe('admin_conflict')
    expect(mock.snapshot().webhooks).toEqual([theirs])
  })
})
