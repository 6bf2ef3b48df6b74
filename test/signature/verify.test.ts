import { createHmac } from 'node:crypto'
import { type SignatureEncoding, sign, verify, WebhookError } from 'geohook'
import { describe, expect, it } from 'vitest'

const signatureKey = 'parcels2026'
const body = '{"events":[]}'
const digest = createHmac('sha256', signatureKey).update(body).digest()
const hex = digest.toString('hex')
const base64 = digest.toString('base64')

const code = async (run: () => Promise<unknown>): Promise<string | undefined> =>
  run().then(
    () => undefined,
    (error: unknown) => (error instanceof WebhookError ? error.code : String(error)),
  )

describe('verify accepts', () => {
  it.each([
    ['hex', hex],
    ['hex in upper case', hex.toUpperCase()],
    ['hex in mixed case', hex.slice(0, 32).toUpperCase() + hex.slice(32)],
    ['base64', base64],
    ['base64 without padding', base64.replace('=', '')],
    ['prefixed hex', `sha256=${hex}`],
    ['prefixed base64', `sha256=${base64}`],
    [
      'percent-encoded base64, lower case',
      encodeURIComponent(`sha256=${base64}`).replace(/%../g, (x) => x.toLowerCase()),
    ],
    ['percent-encoded base64, upper case', encodeURIComponent(`sha256=${base64}`)],
    [
      'percent-encoding of every character',
      [...`sha256=${hex}`].map((c) => `%${c.charCodeAt(0).toString(16)}`).join(''),
    ],
  ])('%s', async (_, signature) => {
    expect(await verify({ body, signature, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
  })

  it.each([
    ['a string', body],
    ['a Buffer', Buffer.from(body)],
    [
      'a Uint8Array inside a larger buffer',
      new Uint8Array(Buffer.from(`xx${body}yy`)).subarray(2, 2 + body.length),
    ],
    ['an ArrayBuffer', new TextEncoder().encode(body).buffer as ArrayBuffer],
  ])('the body as %s', async (_, bytes) => {
    expect(await verify({ body: bytes, signature: hex, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
  })

  it('a key as bytes', async () => {
    expect((await verify({ body, signature: hex, signatureKey: Buffer.from(signatureKey) })).ok).toBe(true)
  })

  it('any key of a ring, and returns its index', async () => {
    for (const [index, ring] of [
      [signatureKey, 'b', 'c'],
      ['a', signatureKey, 'c'],
      ['a', 'b', signatureKey],
    ].entries()) {
      expect(await verify({ body, signature: hex, signatureKey: ring })).toEqual({
        ok: true,
        keyIndex: index,
      })
    }
  })
})

it('verify uses the current keys of a list that has changed since the previous call', async () => {
  const ring = ['a', 'b']
  expect((await verify({ body, signature: hex, signatureKey: ring })).ok).toBe(false)
  ring[1] = signatureKey
  expect((await verify({ body, signature: hex, signatureKey: ring })).ok).toBe(true)
})

it('verify throws for a parsed body even if the signature is missing', async () => {
  const parsed = {} as unknown as string
  const run = () => verify({ body: parsed, signature: undefined, signatureKey })
  expect(await code(run)).toBe('body_already_parsed')
})

it('verify returns the index of the first key if two keys match', async () => {
  const ring = ['a', signatureKey, signatureKey]
  expect(await verify({ body, signature: hex, signatureKey: ring })).toEqual({ ok: true, keyIndex: 1 })
})

describe('verify rejects', () => {
  const wrongTrailingBits = base64.slice(0, 42) + String.fromCharCode(base64.charCodeAt(42) + 1)

  it.each([
    ['undefined', undefined, 'signature_missing'],
    ['null', null, 'signature_missing'],
    ['an empty text', '', 'signature_missing'],
    ['text that is not hex', 'zz'.repeat(32), 'signature_malformed'],
    ['hex of odd length', hex.slice(1), 'signature_malformed'],
    ['hex with an extra byte', `${hex}00`, 'signature_malformed'],
    ['a tag cut to 16 bytes in hex', hex.slice(0, 32), 'signature_malformed'],
    ['a tag cut to 16 bytes in base64', digest.subarray(0, 16).toString('base64'), 'signature_malformed'],
    ['base64 with extra bits at the end', wrongTrailingBits, 'signature_malformed'],
    [
      'base64 with junk that decoders skip',
      `${base64.slice(0, 20)} ${base64.slice(20)}`,
      'signature_malformed',
    ],
    ['base64url', '_'.repeat(43), 'signature_malformed'],
    ['double padding', `${base64}=`, 'signature_malformed'],
    ['another prefix', `sha1=${hex}`, 'signature_malformed'],
    ['the prefix twice', `sha256=sha256=${hex}`, 'signature_malformed'],
    ['two signatures', `${hex}, ${hex}`, 'signature_malformed'],
    ['white space around it', ` ${hex} `, 'signature_malformed'],
    ['a trailing line feed', `${hex}\n`, 'signature_malformed'],
    [
      'percent-encoding twice',
      encodeURIComponent(encodeURIComponent(`sha256=${base64}`)),
      'signature_malformed',
    ],
    ['invalid percent-encoding', `sha256%3${hex}`, 'signature_malformed'],
    ['characters beyond ASCII', `${hex.slice(0, 63)}\u00e9`, 'signature_malformed'],
    ['a long s, which matches s if case is ignored', hex.replace(/^./, '\u017f'), 'signature_malformed'],
    ['fullwidth digits', '\uff11'.repeat(64), 'signature_malformed'],
    ['a list', [hex] as unknown as string, 'signature_malformed'],
    ['a number', 1 as unknown as string, 'signature_malformed'],
    ['a megabyte', 'a'.repeat(2 ** 20), 'signature_malformed'],
    ['a signature over other bytes', '0'.repeat(64), 'signature_mismatch'],
  ])('%s', async (_, signature, expected) => {
    expect(await verify({ body, signature, signatureKey })).toEqual({ ok: false, code: expected })
  })

  it.each<[SignatureEncoding, string]>([
    ['hex', base64],
    ['base64', hex],
  ])('signatures in another encoding than %s if that is required', async (encoding, signature) => {
    expect(await verify({ body, signature, signatureKey, encoding })).toEqual({
      ok: false,
      code: 'signature_malformed',
    })
  })
})

describe('sign and verify throw for', () => {
  it.each([
    ['an empty key', ''],
    ['a blank key', ' \t\n'],
    ['no key at all', undefined],
    ['an empty ring', []],
    ['an empty key in a ring', ['a', '']],
    ['a key without bytes', new Uint8Array()],
    ['a number as key', 7],
    // HMAC pads keys with zeros (RFC 2104), so these keys are equivalent to the empty key.
    ['a zero byte as text', '\0'],
    ['zero bytes', new Uint8Array(32)],
    ['more zero bytes than a block', Buffer.alloc(100)],
    ['zero bytes in a ring', ['a', new Uint8Array(32)]],
    ['more than 100 keys', new Array(101).fill('a')],
  ])('%s', async (_, key) => {
    expect(await code(() => verify({ body, signature: hex, signatureKey: key as string }))).toBe(
      'config_invalid',
    )
    expect(await code(() => sign({ body, signatureKey: key as string }))).toBe('config_invalid')
  })

  it('an unknown encoding', async () => {
    const encoding = 'utf8' as 'hex'
    expect(await code(() => verify({ body, signature: hex, signatureKey, encoding }))).toBe('config_invalid')
    expect(await code(() => sign({ body, signatureKey, encoding }))).toBe('config_invalid')
  })

  it.each([[{ events: [] }], [[1]], [7], [undefined], [null], [Object.create(null)]])(
    'a body that is not bytes: %j',
    async (parsed) => {
      const run = () => verify({ body: parsed as unknown as string, signature: hex, signatureKey })
      expect(await code(run)).toBe('body_already_parsed')
    },
  )
})

it('verifies with a ring of 100 keys', async () => {
  const ring = [...new Array(99).fill('another'), signatureKey]
  expect(await verify({ body, signature: hex, signatureKey: ring })).toEqual({ ok: true, keyIndex: 99 })
})

it('accepts keys that start with zero bytes', async () => {
  for (const key of ['\0a', Uint8Array.of(0, 0, 1)]) {
    const signature = await sign({ body, signatureKey: key })
    expect(signature).toBe(createHmac('sha256', key).update(body).digest('hex'))
    expect(await verify({ body, signature, signatureKey: key })).toEqual({ ok: true, keyIndex: 0 })
  }
})

describe('sign', () => {
  it('returns hex by default, and base64 or a prefix on request', async () => {
    expect(await sign({ body, signatureKey })).toBe(hex)
    expect(await sign({ body, signatureKey, encoding: 'base64' })).toBe(base64)
    expect(await sign({ body, signatureKey, encoding: 'base64', prefix: 'sha256=' })).toBe(`sha256=${base64}`)
  })
})
