import { createReceiver } from 'geohook'
import { createMemoryInbox } from 'geohook/inbox'
import { expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, payloadOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { startTarget } from '../helpers/target.ts'
import { idsIn, openPage } from './helpers/inbox-page.ts'
import { onlyId, startInspected } from './helpers/request-log-support.ts'

const body = payloadOf('add')

it('shows a portal delivery as unsigned, never its key, and sends the key with an edited body', async () => {
  const target = await startTarget((res) => res.end('ok'))
  onTestFinished(target.close)
  const { hook, page } = await startInspected({ profile: 'portal', signatureKey: KEY })
  await send(hook, { headers: { 'content-type': JSON_TYPE, secret: KEY }, body })
  const id = await onlyId(page)
  const { text } = await page.get(`/deliveries/${id}/signature`)
  expect(text).toContain('The header secret contains the only key. The body is not signed.')
  for (const path of ['', '/headers', '/signature', '/curl', '/resend', '/edit'])
    expect((await page.get(`/deliveries/${id}${path}`)).text).not.toContain(KEY)
  await page.submit(`/deliveries/${id}/edit`, { to: target.url, 'content-type': JSON_TYPE, body: '{"a":1}' })
  expect(target.requests.map(({ headers }) => headers.secret)).toEqual([KEY])
})

it('explains a refusal without the redacted key', async () => {
  const { hook, page } = await startInspected({ profile: 'portal', signatureKey: KEY })
  await send(hook, { headers: { 'content-type': JSON_TYPE, secret: 'another secret' }, body })
  const { text } = await page.get(`/deliveries/${await onlyId(page)}/signature`)
  expect(text).toContain('secret_wrong')
  expect(text).not.toContain('another secret')
})

it('says of a delivery in an inbox that its body is not signed', async () => {
  const inbox = createMemoryInbox()
  const receiver = createReceiver({ profile: 'portal', signatureKey: KEY, inbox, observer: {} })
  const headers = { 'content-type': JSON_TYPE, secret: KEY }
  await receiver.fetch(new Request('http://a.example/', { method: 'POST', headers, body }))
  const page = await openPage(inbox)
  const [id] = idsIn(await page.get('/'))
  const { text } = await page.get(`/deliveries/${id}/signature`)
  expect(text).toContain('The header secret contains key 1 (newest). The body is not signed.')
})
