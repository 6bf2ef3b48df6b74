import { createHmac } from 'node:crypto'
import { createReceiver, parsePayload, verify } from 'geohook'
import type { Attempt, SignatureOptions } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'
import { type Captured, capture, FEATURE, JOB, seed, start } from './support.ts'

const NOW = 1730385704000
const create = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

interface Sent {
  request: Captured
  attempt: Attempt
}

/** What one event makes the mock send. */
async function deliver(signature: SignatureOptions, changes: Parameters<typeof seed>[1] = {}): Promise<Sent> {
  const receiver = await capture()
  const service = await start([seed(FEATURE, { hookUrl: receiver.url, ...changes })], {
    signature,
    clock: () => NOW,
  })
  const [attempt] = await service.trigger(create)
  return { request: receiver.requests[0] as Captured, attempt: attempt as Attempt }
}

/** The bytes that are signed and the signature, taken from the wire without the package's help. */
function takeApart({ headers, body }: Captured, { signatureHeader = 'x-service' }: SignatureOptions) {
  const header = headers[signatureHeader.toLowerCase()]
  if (typeof header === 'string') return { signed: body, signature: header }
  const [, signed = '', field = ''] =
    new RegExp(`^payload=([^&]*)&${signatureHeader}=([^&]*)$`).exec(body.toString('latin1')) ?? []
  return { signed: Buffer.from(signed, 'latin1'), signature: decodeURIComponent(field) }
}

describe('a signed delivery verifies', () => {
  const combinations = [JSON_TYPE, FORM_TYPE].flatMap((contentType) =>
    (['json', 'pjson'] as const).flatMap((payloadFormat) =>
      (['header', 'field'] as const).flatMap((signatureIn) =>
        (['hex', 'base64'] as const).flatMap((encoding) =>
          ['', 'sha256='].map((prefix) => ({ contentType, payloadFormat, signatureIn, encoding, prefix })),
        ),
      ),
    ),
  )

  it.each(combinations)('$contentType $payloadFormat, in the $signatureIn, $encoding, prefix "$prefix"', async ({
    contentType,
    payloadFormat,
    ...signature
  }) => {
    const { request, attempt } = await deliver(signature, {
      contentType: contentType as typeof FORM_TYPE & typeof JSON_TYPE,
      payloadFormat,
    })
    expect(request.headers).toMatchObject({
      'content-type': contentType,
      'content-length': String(request.body.length),
    })
    const inField = signature.signatureIn === 'field' && contentType === FORM_TYPE
    expect('x-service' in request.headers).toBe(!inField)
    const taken = takeApart(request, signature)
    const computed = createHmac('sha256', KEY).update(taken.signed).digest(signature.encoding)
    expect(taken.signature).toBe(signature.prefix + computed)
    const { signed: body, signature: value } = taken
    expect(await verify({ body, signature: value, signatureKey: KEY })).toEqual({ ok: true, keyIndex: 0 })
    expect(await verify({ body, signature: value, signatureKey: 'other' })).toMatchObject({ ok: false })
    expect(Buffer.from(attempt.request.body), 'the record has the bytes of the wire').toEqual(request.body)
    const received: string[] = []
    const receiver = createReceiver({ signatureKey: KEY }).on('*', (event) => received.push(event.changeType))
    const arrived = new Request('http://receiver.example/hook', {
      method: 'POST',
      headers: request.headers as Record<string, string>,
      body: new Uint8Array(request.body),
    })
    expect((await receiver.fetch(arrived)).status).toBe(200)
    expect(received).toEqual(['FeaturesCreated'])
  })

  it('the name of the header, or of the field, can be chosen', async () => {
    const signature = { signatureHeader: 'X-Example-Signature' }
    const inHeader = await deliver(signature)
    expect(takeApart(inHeader.request, signature).signature).toMatch(/^[0-9a-f]{64}$/)
    expect(inHeader.request.headers['x-service']).toBeUndefined()
    const inField = await deliver({ ...signature, signatureIn: 'field' }, { contentType: FORM_TYPE })
    expect(inField.request.body.toString()).toMatch(/&X-Example-Signature=[0-9a-f]{64}$/)
  })

  it('a key that is not ASCII is used as its UTF-8 bytes', async () => {
    const { request } = await deliver({}, { signatureKey: 'Schlüssel東京' })
    const computed = createHmac('sha256', 'Schlüssel東京').update(request.body).digest('hex')
    expect(request.headers['x-service']).toBe(computed)
  })
})

describe('a webhook without a key', () => {
  it.each([JSON_TYPE, FORM_TYPE] as const)('sends no signature at all, %s', async (contentType) => {
    for (const signatureIn of ['header', 'field'] as const) {
      const { request, attempt } = await deliver({ signatureIn }, { signatureKey: '', contentType })
      expect(request.headers['x-service']).toBeUndefined()
      expect(request.body.toString()).not.toContain('x-service')
      expect(attempt.request.headers).toEqual({ 'content-type': contentType })
      expect(parsePayload({ body: request.body, contentType })).toMatchObject({
        ok: true,
        changeTypes: ['FeaturesCreated'],
      })
    }
  })
})

describe('the payload', () => {
  it('of a feature service names the webhook, its id and its service', async () => {
    const { request } = await deliver({}, { folderName: 'City' }).catch(() => deliver({}))
    expect(JSON.parse(request.body.toString())).toMatchObject({ serviceName: 'Parcels' })
  })
})
