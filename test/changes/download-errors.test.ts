import { type Attachment, createChanges } from 'geohook/changes'
import { describe, expect, it } from 'vitest'
import { FAST } from './support.ts'

const ORIGIN = 'https://gis.example.com'
const ERROR = '{"error":{"code":404,"message":"gone"}}'
const OCTETS = 'application/octet-stream'
const PNG = { size: 999, contentType: 'image/png' }

/** Downloads an attachment whose server sends a body with a content type, or none. */
async function download(
  body: BodyInit | null,
  type: string | undefined,
  { status = 200, ...members }: Partial<Attachment> & { status?: number } = PNG,
): Promise<string> {
  const fetch = async (): Promise<Response> => {
    const response = new Response(body, { status })
    response.headers.delete('content-type')
    if (type) response.headers.set('content-type', type)
    return response
  }
  const changes = createChanges({ origins: [ORIGIN], pollInterval: FAST, fetch })
  return new Response(await changes.download({ ...PNG, ...members, url: `${ORIGIN}/a` } as Attachment)).text()
}

describe('download', () => {
  it('decodes 10 MB of data in about the time that a loop takes', async () => {
    const bytes = new Uint8Array(10_000_000).map((_, index) => index)
    const data = Buffer.from(bytes).toString('base64')
    const changes = createChanges({ origins: [ORIGIN] })
    await changes.download({ data: '' } as Attachment) // loads the code
    const [decoding, copying] = [[] as number[], [] as number[]]
    for (let run = 0; run < 3; run++) {
      const start = performance.now()
      const stream = await changes.download({ data } as Attachment)
      const decoded = performance.now()
      const text = atob(data)
      const copy = new Uint8Array(text.length)
      for (let index = 0; index < text.length; index++) copy[index] = text.charCodeAt(index)
      decoding.push(decoded - start)
      copying.push(performance.now() - decoded)
      expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(copy)).toBe(true)
    }
    expect(Math.min(...decoding)).toBeLessThan(8 * Math.min(...copying))
  })

  it.each([
    [304, 'changes_failed'],
    [404, 'changes_failed'],
    [401, 'changes_token_rejected'],
    [503, 'changes_unavailable'],
  ])('rejects for the status %i without a body', async (status, code) => {
    await expect(download(null, undefined, { status })).rejects.toMatchObject({ code, serviceCode: status })
  })

  it('returns an empty file for the status 204', async () => {
    expect(await download(null, undefined, { status: 204 })).toBe('')
  })

  it.each([undefined, OCTETS, 'binary/octet-stream'])('finds an error whose type is %s', async (type) => {
    await expect(download(ERROR, type)).rejects.toMatchObject({ code: 'changes_failed', serviceCode: 404 })
  })

  it('takes a page of XHTML for a login page', async () => {
    const type = 'application/xhtml+xml; charset=utf-8'
    await expect(download('<html/>', type)).rejects.toMatchObject({ code: 'changes_malformed' })
    expect(await download('<html/>', type, { contentType: 'application/xhtml+xml' })).toBe('<html/>')
  })

  it.each([
    ['JSON with the declared size', ERROR, { size: ERROR.length }],
    ['JSON without an error', '{"a":1}', {}],
    ['text', 'hello', {}],
    ['text with the declared size', 'hello', { size: 5 }],
    ['nothing', '', {}],
    ['large JSON', `{"error":"${'x'.repeat(100_000)}"}`, {}],
    ['a large text', 'x'.repeat(100_000), { size: 100_000 }],
  ])('returns a file without a content type: %s', async (_, body, members) => {
    for (const type of [undefined, OCTETS]) expect(await download(body, type, members)).toBe(body)
  })

  it('does not wait for more than the first bytes of a file that is not JSON', async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(5)) })
    const fetch = async (): Promise<Response> => new Response(body)
    const changes = createChanges({ origins: [ORIGIN], fetch })
    const stream = await changes.download({ ...PNG, url: `${ORIGIN}/a` } as Attachment)
    expect((await stream.getReader().read()).value).toHaveLength(5)
  })

  it.each([undefined, null, 5, []])('rejects with config_invalid for %j', async (attachment) => {
    const changes = createChanges({ origins: [ORIGIN] })
    await expect(changes.download(attachment as never)).rejects.toMatchObject({ code: 'config_invalid' })
  })
})
