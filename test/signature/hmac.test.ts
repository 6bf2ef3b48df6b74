import { createHash, createHmac, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import * as node from '../../src/signature/hmac.node.ts'
import type { HmacPlatform } from '../../src/signature/hmac.ts'
import * as web from '../../src/signature/hmac.web.ts'

/** The implementations of both platforms must behave identically. */
describe.each<[string, HmacPlatform]>([
  ['node', node],
  ['web', web],
])('#hmac on %s', (_, { importKey, sha256 }) => {
  it.each([0, 1, 63, 64, 65, 1000, 70_000])('digests %i bytes, whole or in chunks', async (length) => {
    const key = randomBytes(32)
    const body = randomBytes(length)
    const expected = createHmac('sha256', key).update(body).digest('hex')
    for (const size of [1_000_000, 7, 64]) {
      if (length / size > 10_000) continue
      const hmac = importKey(key).start()
      for (let offset = 0; offset < length; offset += size) hmac.update(body.subarray(offset, offset + size))
      expect(await hmac.digest()).toBe(expected)
    }
  })

  it.each([1, 64, 65, 200])(
    'copies a key of %i bytes, so that the caller can wipe its own',
    async (length) => {
      const key = randomBytes(length)
      const expected = createHmac('sha256', Buffer.from(key)).update('x').digest('hex')
      const imported = importKey(key)
      key.fill(key[0]! ^ 1)
      for (let use = 0; use < 2; use++) {
        const hmac = imported.start()
        hmac.update(Buffer.from('x'))
        expect(await hmac.digest()).toBe(expected)
      }
    },
  )

  it('does not mix up two keys that are used alternately', async () => {
    const [a, b] = [randomBytes(32), randomBytes(200)]
    const [first, second] = [importKey(a), importKey(b)]
    const body = randomBytes(100)
    const digest = async (key: typeof first): Promise<string> => {
      const hmac = key.start()
      hmac.update(body)
      return await hmac.digest()
    }
    const expected = [a, b].map((key) => createHmac('sha256', key).update(body).digest('hex'))
    for (let round = 0; round < 3; round++)
      expect([await digest(first), await digest(second)]).toEqual(expected)
  })

  it('compares every bit', async () => {
    const key = importKey(randomBytes(32))
    const body = randomBytes(100)
    async function matches(signature: Uint8Array): Promise<boolean> {
      const hmac = key.start()
      hmac.update(body)
      return hmac.matches(signature)
    }
    const hmac = key.start()
    hmac.update(body)
    const right = Buffer.from(await hmac.digest(), 'hex')
    expect(await matches(right)).toBe(true)
    for (let bit = 0; bit < 256; bit++) {
      const other = Uint8Array.from(right)
      other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(await matches(other)).toBe(false)
    }
  })

  it.each([0, 31, 32, 100_000])('hashes %i bytes', async (length) => {
    const bytes = randomBytes(length)
    expect(await sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'))
  })
})

it('says whether its results are promises', () => {
  for (const { isSync, importKey } of [node, web])
    expect(importKey('k').start().digest() instanceof Promise).toBe(!isSync)
})
