import { createHash, createHmac, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { HmacPlatform } from '../../src/runtime/hmac.ts'
import * as node from '../../src/runtime/runtime.node.ts'
import * as web from '../../src/runtime/runtime.web.ts'

/** The implementations of both platforms must behave identically. */
describe.each<[string, HmacPlatform]>([
  ['node', node],
  ['web', web],
])('#runtime on %s', (_, { importKey, sha256 }) => {
  it.each([0, 1, 63, 64, 65, 1000, 70_000])(
    'digests %i bytes, whole or with parts in advance',
    async (length) => {
      const key = randomBytes(32)
      const body = randomBytes(length)
      const expected = createHmac('sha256', key).update(body).digest('hex')
      expect(await importKey(key).start().digest(body)).toBe(expected)
      for (const size of [7, 64, 40_000]) {
        const hmac = importKey(key).start()
        for (let end = size; end <= length; end += size) {
          hmac.update(body.subarray(end - size, end))
          if (end > 10_000) break
        }
        expect(await hmac.digest(body)).toBe(expected)
      }
    },
  )

  it.each([1, 64, 65, 200])(
    'copies a key of %i bytes, so that the caller can wipe its own',
    async (length) => {
      const key = randomBytes(length)
      const expected = createHmac('sha256', Buffer.from(key)).update('x').digest('hex')
      const imported = importKey(key)
      key.fill(key[0]! ^ 1)
      for (let use = 0; use < 2; use++) expect(await imported.start().digest(Buffer.from('x'))).toBe(expected)
    },
  )

  it('does not mix up two keys that are used alternately', async () => {
    const [a, b] = [randomBytes(32), randomBytes(200)]
    const [first, second] = [importKey(a), importKey(b)]
    const body = randomBytes(100)
    const expected = [a, b].map((key) => createHmac('sha256', key).update(body).digest('hex'))
    for (let round = 0; round < 3; round++)
      expect([await first.start().digest(body), await second.start().digest(body)]).toEqual(expected)
  })

  it('compares every bit', async () => {
    const key = importKey(randomBytes(32))
    const body = randomBytes(100)
    const right = Buffer.from(await key.start().digest(body), 'hex')
    expect(await key.start().matches(body, right)).toBe(true)
    for (let bit = 0; bit < 256; bit++) {
      const other = Uint8Array.from(right)
      other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(await key.start().matches(body, other)).toBe(false)
    }
  })

  it.each([0, 31, 32, 100_000])('hashes %i bytes', async (length) => {
    const bytes = randomBytes(length)
    expect(await sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'))
  })
})

it('says whether its results are promises', () => {
  for (const { isSync, importKey } of [node, web])
    expect(importKey('k').start().digest(Buffer.from('x')) instanceof Promise).toBe(!isSync)
})
