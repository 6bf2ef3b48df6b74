import { createHmac } from 'node:crypto'
import { createSigner, type SignerOptions } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'

const JSON_TEXT = '{"name":"a&b=c+d %41 ü"}'
const payload = JSON.parse(JSON_TEXT) as object

async function sign(options: Partial<SignerOptions>, value: unknown = payload) {
  const { headers, body } = await createSigner({ signatureKey: KEY, ...options }).sign(value)
  return { headers, body: Buffer.from(body).toString() }
}

/** Returns the expected signature, computed with Node instead of the package under test. */
const base64Of = (signed: string): string =>
  `sha256=${createHmac('sha256', KEY).update(signed).digest('base64')}`
const percent = (signature: string): string =>
  signature.replaceAll('=', '%3d').replaceAll('+', '%2b').replaceAll('/', '%2f')

describe('percentEncoded', () => {
  const sender = { encoding: 'base64', prefix: 'sha256=' } as const

  it('encodes the header with lower-case hex', async () => {
    const { headers, body } = await sign({ ...sender, percentEncoded: true })
    expect(body).toBe(JSON_TEXT)
    expect(headers).toEqual({ 'content-type': JSON_TYPE, 'x-service': percent(base64Of(JSON_TEXT)) })
    expect(headers['x-service']).toMatch(/^sha256%3d.{44,}%3d$/)
  })

  it('encodes every character of base64 with a special meaning in URLs', async () => {
    const codes = new Set<string>()
    for (let n = 0; n < 50; n++) {
      const { headers } = await sign({ ...sender, percentEncoded: true }, { n })
      expect(headers['x-service']).toBe(percent(base64Of(`{"n":${n}}`)))
      for (const code of headers['x-service']?.match(/%../g) ?? []) codes.add(code)
    }
    expect([...codes].sort()).toEqual(['%2b', '%2f', '%3d'])
  })

  it('is off by default', async () => {
    expect((await sign(sender)).headers['x-service']).toBe(base64Of(JSON_TEXT))
  })

  it.each([true, false])(
    'does not change a form field, which is always encoded once: %s',
    async (percentEncoded) => {
      const { body } = await sign({
        ...sender,
        percentEncoded,
        contentType: FORM_TYPE,
        signatureIn: 'field',
        formPayload: 'plain',
      })
      expect(body).toBe(`payload=${JSON_TEXT}&x-service=${percent(base64Of(JSON_TEXT))}`)
    },
  )
})

describe('formPayload', () => {
  it('plain: puts unencoded JSON into the form, and the header signs the whole body', async () => {
    const { headers, body } = await sign({
      contentType: FORM_TYPE,
      formPayload: 'plain',
      encoding: 'base64',
      prefix: 'sha256=',
    })
    expect(body).toBe(`payload=${JSON_TEXT}`)
    expect(headers).toEqual({ 'content-type': FORM_TYPE, 'x-service': base64Of(`payload=${JSON_TEXT}`) })
  })

  it('plain: supports indented JSON, text and bytes', async () => {
    const plain = { contentType: FORM_TYPE, formPayload: 'plain' } as const
    expect((await sign({ ...plain, payloadFormat: 'pjson' }, { a: 1 })).body).toBe('payload={\n  "a": 1\n}')
    expect((await sign(plain, '{ "a":1 }')).body).toBe('payload={ "a":1 }')
    expect((await sign(plain, Buffer.from('payload=%7B%7D'))).body).toBe('payload=%7B%7D')
  })

  it.each([undefined, 'encoded'] as const)('%s: percent-encodes the payload', async (formPayload) => {
    const { body } = await sign({ contentType: FORM_TYPE, formPayload }, { a: 1 })
    expect(body).toBe('payload=%7B%22a%22%3A1%7D')
  })

  it('does not change a JSON body', async () => {
    expect((await sign({ formPayload: 'plain' })).body).toBe(JSON_TEXT)
  })
})
