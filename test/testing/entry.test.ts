import { createHmac } from 'node:crypto'
import { arcgis, createReceiver, type Delivery, type ReceiverOptions, verify } from 'geohook'
import { createPayload, createSigner, type SignedRequest, type SignerOptions } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'

const hmac = (bytes: Uint8Array, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHmac('sha256', KEY).update(bytes).digest(encoding)

/** Posts a request to a receiver. Returns the status, and the deliveries that its handlers received. */
async function receive(request: SignedRequest, options: Partial<ReceiverOptions> = {}) {
  const deliveries: Delivery[] = []
  const receiver = createReceiver({ signatureKey: KEY, observer: {}, ...options }).on('*', (_, delivery) =>
    deliveries.push(delivery),
  )
  const { status } = await receiver.fetch(new Request('http://receiver.example/hook', request))
  return { status, deliveries }
}

describe('createSigner', () => {
  const combinations = [JSON_TYPE, FORM_TYPE].flatMap((contentType) =>
    (['json', 'pjson'] as const).flatMap((payloadFormat) =>
      (['header', 'field'] as const).flatMap((signatureIn) =>
        (['hex', 'base64'] as const).flatMap((encoding) =>
          ['', 'sha256='].map((prefix) => ({
            contentType: contentType as typeof JSON_TYPE & typeof FORM_TYPE,
            payloadFormat,
            signatureIn,
            encoding,
            prefix,
          })),
        ),
      ),
    ),
  )

  it.each(combinations)(
    'signs requests that a receiver accepts: $contentType $payloadFormat, in the $signatureIn, $encoding, prefix "$prefix"',
    async (options) => {
      const payload = createPayload(['FeaturesCreated', 'FeaturesUpdated'], { name: 'a&b=c+d %41 ü 東' })
      const request = await createSigner({ signatureKey: KEY, ...options }).sign(payload)
      expect(request.method).toBe('POST')
      const { status, deliveries } = await receive(request)
      expect(status).toBe(200)
      expect(deliveries[0]).toMatchObject({
        payload,
        contentType: options.contentType,
        changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
      })
      expect((await receive(request, { signatureKey: 'other' })).status).toBe(401)
      expect((await receive(request, { encoding: options.encoding })).status).toBe(200)
      const otherEncoding = options.encoding === 'hex' ? 'base64' : 'hex'
      expect((await receive(request, { encoding: otherEncoding })).status).toBe(401)
    },
  )

  it('by default, signs JSON in hex, with the signature in x-service', async () => {
    const { headers, body, bytes } = await createSigner({ signatureKey: KEY }).sign({ a: [1] })
    expect(body).toBe('{"a":[1]}')
    expect(headers).toEqual({ 'content-type': JSON_TYPE, 'x-service': hmac(bytes) })
  })

  it('signs the whole body of a form if the signature goes into a header', async () => {
    const signer = createSigner({
      signatureKey: KEY,
      contentType: FORM_TYPE,
      prefix: 'sha256=',
      encoding: 'base64',
    })
    const { headers, body, bytes } = await signer.sign({ a: 1 })
    expect(body).toBe('payload=%7B%22a%22%3A1%7D')
    expect(headers).toEqual({ 'content-type': FORM_TYPE, 'x-service': `sha256=${hmac(bytes, 'base64')}` })
  })

  it('signs only the encoded payload of a form if the signature goes into a field', async () => {
    const signer = createSigner({
      signatureKey: KEY,
      contentType: FORM_TYPE,
      signatureIn: 'field',
      encoding: 'base64',
      prefix: 'sha256=',
    })
    const { headers, body } = await signer.sign({ a: 1 })
    const signature = `sha256=${hmac(Buffer.from('%7B%22a%22%3A1%7D'), 'base64')}`
    expect(headers).toEqual({ 'content-type': FORM_TYPE })
    // Senders with a signature field percent-encode the signature with lower-case hex digits.
    const written = signature.replaceAll('=', '%3d').replaceAll('+', '%2b').replaceAll('/', '%2f')
    expect(body).toBe(`payload=%7B%22a%22%3A1%7D&x-service=${written}`)
  })

  it('pjson indents by two spaces', async () => {
    const { body } = await createSigner({ signatureKey: KEY, payloadFormat: 'pjson' }).sign({ a: [1] })
    expect(body).toBe('{\n  "a": [\n    1\n  ]\n}')
  })

  it.each(['header', 'field'] as const)('signs for the arcgis profile, in the %s', async (signatureIn) => {
    const { signatureHeader } = arcgis
    const contentType = signatureIn === 'field' ? FORM_TYPE : JSON_TYPE
    const signer = createSigner({
      signatureKey: KEY,
      signatureHeader,
      signatureIn,
      contentType,
      prefix: 'sha256=',
    })
    const request = await signer.sign(createPayload('FeaturesCreated'))
    expect((await receive(request, { profile: arcgis })).status).toBe(200)
    expect((await receive(request)).status, 'not from x-service').toBe(401)
  })

  it('accepts a key as bytes', async () => {
    const signatureKey = Uint8Array.of(0, 255, 128, 10)
    const request = await createSigner({ signatureKey }).sign({})
    expect(request.headers['x-service']).toBe(
      createHmac('sha256', signatureKey).update(request.body).digest('hex'),
    )
    expect((await receive(request, { signatureKey })).status).toBe(200)
  })

  it('signs several requests independently', async () => {
    const signer = createSigner({ signatureKey: KEY })
    const [first, second] = await Promise.all([signer.sign({ n: 1 }), signer.sign({ n: 2 })])
    first.bytes.fill(0)
    first.headers['x-service'] = ''
    expect(second.headers['x-service']).toBe(hmac(second.bytes))
    expect((await receive(await signer.sign({ n: 1 }))).status).toBe(200)
  })

  describe('sends text and bytes unchanged:', () => {
    const EXACT = '{ "n": 1.0, "u": "\\u00e9\\/", "n": 2 }\r\n'

    it('text, as the body', async () => {
      const request = await createSigner({ signatureKey: KEY, payloadFormat: 'pjson' }).sign(EXACT)
      expect(request.body).toBe(EXACT)
      expect((await receive(request)).status).toBe(200)
    })

    it.each(['header', 'field'] as const)(
      'text, as the value of a form field, signed in the %s',
      async (signatureIn) => {
        const request = await createSigner({ signatureKey: KEY, contentType: FORM_TYPE, signatureIn }).sign(
          EXACT,
        )
        expect(new URLSearchParams(request.body).get('payload')).toBe(EXACT)
        expect((await receive(request)).status).toBe(200)
      },
    )

    it.each<[string, Uint8Array | ArrayBuffer, number[]]>([
      [
        'bytes that are not UTF-8',
        Uint8Array.of(0xef, 0xbb, 0xbf, 0xfe, 0x00),
        [0xef, 0xbb, 0xbf, 0xfe, 0x00],
      ],
      ['a Buffer', Buffer.from('{}'), [0x7b, 0x7d]],
      ['a view of a buffer', new Uint8Array([1, 2, 3, 4]).subarray(1, 3), [2, 3]],
      ['an ArrayBuffer', Uint8Array.of(0x7b, 0x7d).buffer, [0x7b, 0x7d]],
      ['no bytes', new Uint8Array(), []],
    ])('%s', async (_, bytes, expected) => {
      for (const contentType of [JSON_TYPE, FORM_TYPE] as const) {
        const request = await createSigner({ signatureKey: KEY, contentType }).sign(bytes)
        expect([...request.bytes]).toEqual(expected)
        expect([...Buffer.from(request.body)]).toEqual(expected)
        const signature = String(request.headers['x-service'])
        for (const body of [request.body, request.bytes])
          expect(await verify({ body, signature, signatureKey: KEY })).toMatchObject({ ok: true })
      }
    })

    it('a copy of bytes, which later changes do not affect', async () => {
      const bytes = Buffer.from('{}')
      const { body } = await createSigner({ signatureKey: KEY }).sign(bytes)
      bytes.fill(0)
      expect(body).toBe('{}')
    })

    it('JSON in a form without percent-encoding', async () => {
      const raw = 'payload={"serviceName":"A&B=C+D","events":[{"eventType":"FeaturesCreated"}]}'
      const signer = createSigner({ signatureKey: KEY, contentType: FORM_TYPE, signatureIn: 'field' })
      const request = await signer.sign(Buffer.from(raw))
      expect(request.body).toMatch(/^payload=\{.*\}&x-service=[0-9a-f]{64}$/)
      const { status, deliveries } = await receive(request)
      expect([status, deliveries[0]?.events[0]?.service.serviceName]).toEqual([200, 'A&B=C+D'])
    })
  })

  describe('throws config_invalid for', () => {
    it.each<[string, object, RegExp]>([
      ['an empty key', { signatureKey: '' }, /^signatureKey is empty\./],
      ['a blank key', { signatureKey: ' \n' }, /^signatureKey is empty\./],
      [
        'no key, as from a variable that is not set',
        { signatureKey: undefined },
        /^signatureKey is missing: the value is undefined\. If it comes from an environment variable/,
      ],
      ['a key of no bytes', { signatureKey: new Uint8Array() }, /^signatureKey is empty\./],
      ['a key of zero bytes', { signatureKey: new Uint8Array(32) }, /^signatureKey is empty\./],
      [
        'an unknown encoding',
        { signatureKey: KEY, encoding: 'base32' },
        /^encoding must be one of hex, base64$/,
      ],
    ])('%s', (_, options, message) => {
      expect(() => createSigner(options as SignerOptions)).toThrow(
        expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
      )
    })

    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    const throwing = {
      toJSON() {
        throw new RangeError('mine')
      },
    }
    it.each<[string, unknown]>([
      ['undefined', undefined],
      ['a function', () => {}],
      ['a symbol', Symbol('s')],
      ['a bigint', 1n],
      ['a cyclic list', cyclic],
      ['an object whose toJSON throws', throwing],
    ])('a payload that JSON cannot represent: %s', async (_, payload) => {
      for (const contentType of [JSON_TYPE, FORM_TYPE] as const) {
        await expect(createSigner({ signatureKey: KEY, contentType }).sign(payload)).rejects.toMatchObject({
          code: 'config_invalid',
        })
      }
    })
  })
})

it.each([
  ['a DataView', (bytes: Uint8Array<ArrayBuffer>) => new DataView(bytes.buffer, 1, 4)],
  ['an Int8Array', (bytes: Uint8Array<ArrayBuffer>) => new Int8Array(bytes.buffer, 1, 4)],
  ['a Buffer', (bytes: Uint8Array<ArrayBuffer>) => Buffer.from(bytes.buffer, 1, 4)],
])('createSigner signs the bytes of %s', async (_name, toView) => {
  const bytes = Uint8Array.of(0, 123, 34, 49, 125)
  const signed = await createSigner({ signatureKey: 'k' }).sign(toView(bytes))
  expect([...signed.bytes]).toEqual([123, 34, 49, 125])
})
