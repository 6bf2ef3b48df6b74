import { createHmac, randomBytes } from 'node:crypto'
import { sign, verify } from 'geohook'
import { describe, expect, it } from 'vitest'

/** On Node a body of up to 32 KiB is hashed in one piece, a larger one as it comes; a key over 64 bytes is hashed first. */
const BODIES = [0, 1, 55, 64, 1000, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 300_000]
const KEYS = [1, 31, 63, 64, 65, 200]

describe.each(KEYS)('a key of %d bytes', (length) => {
  it.each(BODIES)('over %d bytes makes what createHmac makes', async (size) => {
    const [signatureKey, body] = [randomBytes(length), randomBytes(size)]
    const expected = createHmac('sha256', signatureKey).update(body).digest('hex')
    expect(await sign({ body, signatureKey })).toBe(expected)
    expect(await verify({ body, signature: expected, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
  })
})

/** A text of up to 341 characters is encoded into a buffer of 1024 bytes, a longer one into its own. */
it.each([63, 64, 65, 341, 342, 1024, 1025, 4000])(
  'a key of %d characters, of one to three bytes',
  async (length) => {
    for (const character of ['a', '\u00e4', '\u6771']) {
      const signatureKey = character.repeat(length)
      const expected = createHmac('sha256', signatureKey).update('{}').digest('hex')
      expect(await sign({ body: '{}', signatureKey })).toBe(expected)
      expect(await verify({ body: '{}', signature: expected, signatureKey })).toEqual({
        ok: true,
        keyIndex: 0,
      })
    }
  },
)

it('keys that are given as texts, in turn and at once, are not taken for one another', async () => {
  const keys = ['parcels2026', 'parcels2027', 'pärcels2026']
  const signs = Array.from({ length: 30 }, (_, index) => keys[index % 3] as string).map(
    async (signatureKey) => {
      const expected = createHmac('sha256', signatureKey).update('{}').digest('hex')
      expect(await sign({ body: '{}', signatureKey })).toBe(expected)
      const others = keys.filter((key) => key !== signatureKey)
      expect(await verify({ body: '{}', signature: expected, signatureKey: others })).toMatchObject({
        ok: false,
      })
    },
  )
  await Promise.all(signs)
})

it('bytes that are changed after the key was imported do not change the key', async () => {
  const signatureKey = new Uint8Array([1, 2, 3])
  const before = sign({ body: '{}', signatureKey })
  signatureKey.fill(9)
  expect(await before).toBe(
    createHmac('sha256', Uint8Array.of(1, 2, 3))
      .update('{}')
      .digest('hex'),
  )
})
