import { createHmac } from 'node:crypto'
import { createSigner, type SignerOptions } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'

const JSON_TEXT = '{"name":"a&b=c+d %41 ü"}'
const payload = JSON.parse(JSON_TEXT) as object

async function send(options: Partial<SignerOptions>, what: unknown = payload) {
  const { headers, body } = await createSigner({ signatureKey: KEY, ...options }).sign(what)
  return { headers, body: Buffer.from(body).toString() }
}

/** Computed by Node, percent-encoded by hand. */
const base64Of = (signed: string): string =>
  `sha256=${createHmac('sha256', KEY).update(signed).digest('base64')}`
const percent = (signature: string): string =>
  signature.replaceAll('=', '%3d').replaceAll('+', '%2b').replaceAll('/', '%2f')

describe('percentEncoded', () => {
  const sender = { encoding: 'base64', prefix: 'sha256=' } as const

  it('encodes the header with lower-case hex', async () => {
    const { headers, body } = await send({ ...sender, percentEncoded: true })
    expect(body).toBe(JSON_TEXT)
    expect(headers).toEqual({ 'content-type': JSON_TYPE, 'x-service': percent(base64Of(JSON_TEXT)) })
    expect(headers['x-service']).toMatch(/^sha256%3d.{44,}%3d$/)
  })

  it('every character of base64 that has a meaning in URLs is encoded', async () => {
    const seen = new Set<string>()
    for (let n = 0; n < 50; n++) {
      const { headers } = await send({ ...sender, percentEncoded: true }, { n })
      expect(headers['x-service']).toBe(percent(base64Of(`{"n":${n}}`)))
      for (const code of headers['x-service']?.match(/%../g) ?? []) seen.add(code)
    }
    expect([...seen].sort()).toEqual(['%2b', '%2f', '%3d'])
  })

  it('is off unless told otherwise', async () => {
    expect((await send(sender)).headers['x-service']).toBe(base64Of(JSON_TEXT))
  })

  it.each([true, false])('a form field is encoded anyway, once: %s', async (percentEncoded) => {
    const { body } = await send({
      ...sender,
      percentEncoded,
      contentType: FORM_TYPE,
      signatureIn: 'field',
      formPayload: 'plain',
    })
    expect(body).toBe(`payload=${JSON_TEXT}&x-service=${percent(base64Of(JSON_TEXT))}`)
  })
})

describe('formPayload', () => {
  it('plain: the JSON stands in the form as it is, and the header signs the whole body', async () => {
    const { headers, body } = await send({
      contentType: FORM_TYPE,
      formPayload: 'plain',
      encoding: 'base64',
      prefix: 'sha256=',
    })
    expect(body).toBe(`payload=${JSON_TEXT}`)
    expect(headers).toEqual({ 'content-type': FORM_TYPE, 'x-service': base64Of(`payload=${JSON_TEXT}`) })
  })

  it('plain: indented, a text, and bytes', async () => {
    const plain = { contentType: FORM_TYPE, formPayload: 'plain' } as const
    expect((await send({ ...plain, payloadFormat: 'pjson' }, { a: 1 })).body).toBe('payload={\n  "a": 1\n}')
    expect((await send(plain, '{ "a":1 }')).body).toBe('payload={ "a":1 }')
    expect((await send(plain, Buffer.from('payload=%7B%7D'))).body).toBe('payload=%7B%7D')
  })

  it.each([undefined, 'encoded'] as const)('%s: percent-encoded', async (formPayload) => {
    const { body } = await send({ contentType: FORM_TYPE, formPayload }, { a: 1 })
    expect(body).toBe('payload=%7B%22a%22%3A1%7D')
  })

  it('does nothing to JSON', async () => {
    expect((await send({ formPayload: 'plain' })).body).toBe(JSON_TEXT)
  })
})
