import { expect, it } from 'vitest'
import { get, type Json, LAYER, post, SERVICE, startFeatures } from './support.ts'

async function startWithFeature() {
  const service = await startFeatures()
  const { addResults } = await post(service, `${LAYER}/addFeatures`, { features: [{ attributes: {} }, {}] })
  return { service, parentGlobalId: addResults[0].globalId as string }
}

async function upload(url: string, file: File, fields: Record<string, string> = {}): Promise<Json> {
  const body = new FormData()
  body.append('attachment', file)
  for (const [name, value] of Object.entries({ f: 'json', ...fields })) body.append(name, value)
  return (await fetch(url, { method: 'POST', body })).json()
}

const file = (text: string, name = 'a.txt', type = 'text/plain') => new File([text], name, { type })

it('attachments are added, listed, read, replaced and deleted', async () => {
  const { service, parentGlobalId } = await startWithFeature()
  const url = `${service.url}/rest/services/${LAYER}/1`
  const { addAttachmentResult } = await upload(`${url}/addAttachment`, file('first'))
  expect(addAttachmentResult).toMatchObject({ objectId: 1, success: true })
  const { globalId } = addAttachmentResult
  const info = {
    id: 1,
    globalId,
    parentGlobalId,
    name: 'a.txt',
    contentType: 'text/plain',
    size: 5,
    keywords: '',
  }
  expect(await get(service, `${LAYER}/1/attachments`)).toEqual({ attachmentInfos: [info] })

  const { updateAttachmentResult } = await upload(
    `${url}/updateAttachment`,
    file('<b>', 'b €.html', 'text/html'),
    {
      attachmentId: '1',
    },
  )
  expect(updateAttachmentResult).toEqual({ objectId: 1, globalId, success: true })
  const response = await fetch(`${url}/attachments/1`)
  expect(await response.text()).toBe('<b>')
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/html',
    'content-disposition': "inline; filename*=UTF-8''b%20%E2%82%AC.html",
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
  })

  const { deleteAttachmentResults } = await post(service, `${LAYER}/1/deleteAttachments`, {
    attachmentIds: '1',
  })
  expect(deleteAttachmentResults).toEqual([{ objectId: 1, globalId, success: true }])
  expect(await get(service, `${LAYER}/1/attachments`)).toEqual({ attachmentInfos: [] })
  expect((await get(service, `${LAYER}/1/attachments/1`)).error).toMatchObject({ code: 404 })
})

it('applyEdits adds, replaces and deletes attachments by global ids', async () => {
  const { service, parentGlobalId } = await startWithFeature()
  const id = '{0B0D9F1E-53A5-4A2E-9D4E-7C0F6A1F2B3C}'
  const apply = (attachments: object) =>
    post(service, `${SERVICE}/applyEdits`, { edits: [{ id: 0, attachments }] })
  const data = Buffer.from('text').toString('base64')
  const add = { globalId: id, parentGlobalId, name: 'a.txt', contentType: 'text/plain', data }
  const [added] = await apply({ adds: [add] })
  expect(added.attachments.addResults).toEqual([{ objectId: 1, globalId: id, success: true }])
  const [again] = await apply({ adds: [add] })
  expect(again.attachments.addResults[0].error.code).toBe(1022)
  const [updated] = await apply({ updates: [{ ...add, parentGlobalId: undefined, name: 'b.txt' }] })
  expect(updated.attachments.updateResults).toEqual([{ objectId: 1, globalId: id, success: true }])
  const { attachmentInfos } = await get(service, `${LAYER}/1/attachments`)
  expect(attachmentInfos).toMatchObject([{ id: 1, name: 'b.txt', size: 4 }])
  const [deleted] = await apply({ deletes: [id.slice(1, -1).toLowerCase()] })
  expect(deleted.attachments.deleteResults).toEqual([{ objectId: 1, globalId: id, success: true }])
})

it.each([{}, { data: '!' }, { uploadId: 'x' }])(
  'applyEdits refuses an attachment without its bytes: %o',
  async (row) => {
    const { service, parentGlobalId } = await startWithFeature()
    const adds = [{ parentGlobalId, name: 'a.txt', contentType: 'text/plain', ...row }]
    const { error } = await post(service, `${LAYER}/applyEdits`, { attachments: { adds } })
    expect(error.message).toBe('attachments.adds.0.data: must be base64; the mock has no uploads')
  },
)

it('an attachment belongs to its feature', async () => {
  const { service } = await startWithFeature()
  const url = `${service.url}/rest/services/${LAYER}`
  await upload(`${url}/1/addAttachment`, file('x'))
  expect((await get(service, `${LAYER}/2/attachments/1`)).error).toMatchObject({ code: 404 })
  const other = await post(service, `${LAYER}/2/deleteAttachments`, { attachmentIds: [1] })
  expect(other.deleteAttachmentResults[0].error).toMatchObject({ code: 1010 })
  await post(service, `${LAYER}/deleteFeatures`, { objectIds: 1 })
  expect((await get(service, `${LAYER}/1/attachments`)).error).toMatchObject({ code: 404 })
})

it.each([
  ['a form without a file', () => new URLSearchParams({ f: 'json' }), 'error', 400],
  ['a name with a slash', () => formWith(file('x', 'a\\b')), 'addAttachmentResult', 1008],
  ['an invalid media type', () => formWith(file('x', 'a', 'text')), 'addAttachmentResult', 1008],
  ['more than 10 MB', () => formWith(file('x'.repeat(10 * 1024 * 1024 + 1))), 'addAttachmentResult', 1008],
  ['a body of more than 16 MB', () => formWith(file('x'.repeat(16 * 1024 * 1024))), 'error', 413],
])('addAttachment refuses %s', async (_, toBody, member, code) => {
  const { service } = await startWithFeature()
  const response = await fetch(`${service.url}/rest/services/${LAYER}/1/addAttachment?f=json`, {
    method: 'POST',
    body: toBody(),
  })
  const answer = (await response.json()) as Json
  expect((answer[member].error ?? answer[member]).code).toBe(code)
  expect(await get(service, `${LAYER}/1/attachments`)).toEqual({ attachmentInfos: [] })
})

function formWith(content: File): FormData {
  const form = new FormData()
  form.append('attachment', content)
  return form
}

it('a layer without attachments refuses them', async () => {
  const service = await startFeatures([
    { name: 'Plain', hasAttachments: false, features: [{ attributes: {} }] },
  ])
  const answer = await upload(`${service.url}/rest/services/${LAYER}/1/addAttachment`, file('x'))
  expect(answer.addAttachmentResult.error).toMatchObject({ code: 1008 })
})

it('the media type of a file may have parameters, which are dropped', async () => {
  const { service } = await startWithFeature()
  const url = `${service.url}/rest/services/${LAYER}/1`
  await upload(`${url}/addAttachment`, file('first', 'a.txt', 'text/plain; charset=utf-8'))
  expect((await get(service, `${LAYER}/1/attachments`)).attachmentInfos).toMatchObject([
    { contentType: 'text/plain' },
  ])
})
