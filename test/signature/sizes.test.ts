import { createHmac, randomBytes } from 'node:crypto'
import { sign, verify } from 'geohook'
import { describe, expect, it } from 'vitest'

/**
 * On Node, bodies up to 32 KiB are hashed in one piece and larger ones in chunks. Keys over 64 bytes are hashed
 * first.
 */
const BODIES = [0, 1, 55, 64, 1000, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 300_000]
const KEYS = [1, 31, 63, 64, 65, 200]

describe.each(KEYS)('a key of %d bytes', (length) => {
  it.each(BODIES)('signs %d bytes like createHmac', async (size) => {
    const [signatureKey, body] = [randomBytes(length), randomBytes(size)]
    signatureKey[0] = 1 // an all-zero key is rejected
    const expected = createHmac('sha256', signatureKey).update(body).digest('hex')
    expect(await sign({ body, signatureKey })).toBe(expected)
    expect(await verify({ body, signature: expected, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
  })
})

/** Keys of up to 341 characters are encoded into a shared buffer of 1024 bytes, longer ones into their own buffer. */
it.each([63, 64, 65, 341, 342, 1024, 1025, 4000])(
  'signs with a key of %d characters of one to three bytes each',
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

it('does not mix up keys that are used at the same time', async () => {
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

it('does not change a key when its bytes are changed after the call', async () => {
  const signatureKey = new Uint8Array([1, 2, 3])
  const before = sign({ body: '{}', signatureKey })
  signatureKey.fill(9)
  expect(await before).toBe(
    createHmac('sha256', Uint8Array.of(1, 2, 3))
      .update('{}')
      .digest('hex'),
  )
})
