import { type Attachment, createChanges, type EditFields, readEditor } from 'geohook/changes'
import { describe, expect, it } from 'vitest'
import { type Reply, raw, redirect, startHostile } from './contract/hostile-server.ts'
import { FAST, startService, TOKEN } from './support.ts'

const FILE: Attachment = {
  attachmentId: 1,
  globalId: 'A',
  parentGlobalId: 'B',
  name: 'a.txt',
  contentType: 'text/plain',
  size: 5,
}
const read = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text()

/** Downloads an attachment from a server that answers with the replies. */
async function download(replies: Record<string, Reply>, members: Partial<Attachment> = {}, timeout?: number) {
  const server = await startHostile(replies)
  const changes = createChanges({ token: TOKEN, origins: [server.origin], pollInterval: FAST, timeout })
  const stream = changes.download({ ...FILE, url: `${server.origin}/a`, ...members })
  return { server, text: stream.then(read) }
}

describe('download', () => {
  it('streams an attachment of the mock', async () => {
    const service = await startService()
    const form = new FormData()
    form.set('f', 'json')
    form.set('token', 'edit')
    form.set('attachment', new File(['hello'], 'a.txt', { type: 'text/plain' }))
    await fetch(`${service.url}/0/1/addAttachment`, { method: 'POST', body: form })
    const changes = service.changes({ attachments: true })
    const { layers } = await changes.of(service.event())
    const [attachment] = layers[0]?.attachments.adds ?? []
    expect(attachment).toMatchObject({ name: 'a.txt', contentType: 'text/plain', size: 5 })
    expect(await read(await changes.download(attachment as Attachment))).toBe('hello')
    service.service.faults.add({ fault: 'token_expired', times: 1 })
  })

  it('decodes data that the service sent', async () => {
    const changes = createChanges({ origins: ['https://gis.example.com'] })
    expect(await read(await changes.download({ ...FILE, data: btoa('hello') }))).toBe('hello')
    await expect(changes.download({ ...FILE, data: '%' })).rejects.toMatchObject({
      code: 'changes_malformed',
    })
    await expect(changes.download(FILE)).rejects.toMatchObject({ code: 'changes_url_refused' })
    await expect(changes.download({ ...FILE, url: 'https://other.example/a' })).rejects.toMatchObject({
      code: 'changes_url_refused',
    })
  })

  it('sends the token in a header, and not to another origin', async () => {
    const files = await startHostile({ b: raw(200, 'hello', { 'content-type': 'application/octet-stream' }) })
    const { server, text } = await download({ a: redirect(`${files.origin}/b?s=1`) })
    expect(await text).toBe('hello')
    expect(server.got.map(({ all }) => all.split(' ')[0])).toEqual(['/a'])
    expect(server.got[0]?.all).toContain(`"x-esri-authorization":"Bearer ${TOKEN}"`)
    expect(files.got[0]?.all).not.toContain(TOKEN)
  })

  it('a file of JSON or HTML is not an error', async () => {
    const error = '{"error":{"code":400,"message":"part of the file"}}'
    const json = { 'content-type': 'application/json' }
    expect(await (await download({ a: raw(200, error, json) }, { size: error.length })).text).toBe(error)
    expect(await (await download({ a: raw(200, '[1]', json) })).text).toBe('[1]')
    expect(await (await download({ a: raw(200, '{"a":1}', json) })).text).toBe('{"a":1}')
    const large = `{"a":"${'x'.repeat(100_000)}"}`
    expect(await (await download({ a: raw(200, large, json) })).text).toBe(large)
    const page = raw(200, '<p>', { 'content-type': 'text/html' })
    expect(await (await download({ a: page }, { contentType: 'text/html' })).text).toBe('<p>')
  })

  it.each<[string, Reply, object, number?]>([
    [
      'an error with the status 200',
      { error: { code: 404, message: 'gone' } },
      { code: 'changes_failed', serviceCode: 404 },
    ],
    ['an expired token', { error: { code: 498, message: 'expired' } }, { code: 'changes_token_rejected' }],
    ['a login page', raw(200, '<p>', { 'content-type': 'text/html' }), { code: 'changes_malformed' }],
    ['the status 404', raw(404, 'no'), { code: 'changes_failed', serviceCode: 404 }],
    ['a closed connection', (res) => res.destroy(), { code: 'changes_unavailable' }],
    ['no response', () => {}, { code: 'changes_timeout' }, 1000],
    ['a redirect to http', redirect('http://gis.example.com/'), { code: 'changes_url_refused' }],
  ])('reports %s', async (_, reply, expected, timeout) => {
    const { text } = await download({ a: reply }, {}, timeout)
    await expect(text).rejects.toMatchObject(expected)
  })

  it('the signal ends it at once, also while the stream is read', async () => {
    const server = await startHostile({ a: (res) => res.writeHead(200).write('hello') })
    const controller = new AbortController()
    const changes = createChanges({ origins: [server.origin] })
    const stream = await changes.download(
      { ...FILE, url: `${server.origin}/a` },
      { signal: controller.signal },
    )
    const reader = stream.getReader()
    expect((await reader.read()).value).toHaveLength(5)
    controller.abort(new Error('stop'))
    await expect(reader.read()).rejects.toThrow('stop')
    await expect(changes.download(FILE, { signal: controller.signal })).rejects.toThrow('stop')
  })
})

describe('editor', () => {
  const DATES = [1_700_000_000_000, 1_700_000_100_000] as const
  const [created, edited] = DATES.map((date) => new Date(date))

  it.each([
    [{ Creator: 'a', CreationDate: DATES[0], Editor: 'b', EditDate: DATES[1] }],
    [{ CREATED_USER: 'a', CREATED_DATE: DATES[0], LAST_EDITED_USER: 'b', LAST_EDITED_DATE: DATES[1] }],
    [{ created_user: 'a', created_date: DATES[0], last_edited_user: 'b', last_edited_date: DATES[1] }],
  ])('reads %j', (attributes) => {
    expect(readEditor({ attributes })).toEqual({
      creator: 'a',
      createdAt: created,
      editor: 'b',
      editedAt: edited,
    })
  })

  it('reads the fields that the layer names', () => {
    const fields = { editorField: 'Who', editDateField: 'WHEN' }
    expect(
      readEditor({ attributes: { who: 'b', when: DATES[1], Editor: 'x', Creator: 'a' } }, fields),
    ).toEqual({
      creator: 'a',
      editor: 'b',
      editedAt: edited,
    })
  })

  it.each([null, {}, { editorField: null, editDateField: undefined }, { editorField: 7 }, 'Who'])(
    'uses the default names if editFieldsInfo is %j',
    (fields) => {
      expect(readEditor({ attributes: { Editor: 'b', EditDate: DATES[1] } }, fields as EditFields)).toEqual({
        editor: 'b',
        editedAt: edited,
      })
    },
  )

  it.each([
    [{}],
    [{ Editor: null, EditDate: null }],
    [{ Editor: '', EditDate: 'x', Creator: 7, CreationDate: {} }],
  ])('finds nothing in %j', (attributes) => expect(readEditor({ attributes })).toEqual({}))
})
