import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sign, verify } from 'geohook'
import { describe, expect, it } from 'vitest'

interface Group {
  tagSize: number
  tests: { tcId: number; key: string; msg: string; tag: string; result: 'valid' | 'invalid' }[]
}

const { testGroups, numberOfTests } = JSON.parse(
  readFileSync(new URL('../vectors/wycheproof-hmac-sha256.json', import.meta.url), 'utf8'),
) as { testGroups: Group[]; numberOfTests: number }

const vectors = testGroups.flatMap(({ tagSize, tests }) => tests.map((test) => ({ ...test, tagSize })))

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

describe('Wycheproof HMAC-SHA256', () => {
  it('has all 174 vectors, with complete and truncated tags', () => {
    expect(vectors.length).toBe(174)
    expect(numberOfTests).toBe(174)
    expect(vectors.filter(({ tagSize }) => tagSize < 256).length).toBeGreaterThan(50)
  })

  it.each(vectors)('gives the right verdict on vector $tcId ($tagSize bits, $result)', async (vector) => {
    const accepted = vector.result === 'valid' && vector.tagSize === 256
    for (const signature of [vector.tag, Buffer.from(vector.tag, 'hex').toString('base64')]) {
      const verdict = await verify({ body: bytes(vector.msg), signature, signatureKey: bytes(vector.key) })
      expect(verdict.ok).toBe(accepted)
      if (vector.tagSize < 256) expect(verdict).toEqual({ ok: false, code: 'signature_malformed' })
    }
  })
})

/** RFC 4231 section 4. Case 5, with a truncated tag, has its own test below. */
const RFC_4231 = [
  {
    name: 'case 1',
    key: bytes('0b'.repeat(20)),
    data: Buffer.from('Hi There'),
    digest: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  },
  {
    name: 'case 2',
    key: Buffer.from('Jefe'),
    data: Buffer.from('what do ya want for nothing?'),
    digest: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  },
  {
    name: 'case 3',
    key: bytes('aa'.repeat(20)),
    data: bytes('dd'.repeat(50)),
    digest: '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
  },
  {
    name: 'case 4',
    key: bytes('0102030405060708090a0b0c0d0e0f10111213141516171819'),
    data: bytes('cd'.repeat(50)),
    digest: '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
  },
  {
    name: 'case 6',
    key: bytes('aa'.repeat(131)),
    data: Buffer.from('Test Using Larger Than Block-Size Key - Hash Key First'),
    digest: '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  },
  {
    name: 'case 7',
    key: bytes('aa'.repeat(131)),
    data: Buffer.from(
      'This is a test using a larger than block-size key and a larger than block-size data. ' +
        'The key needs to be hashed before being used by the HMAC algorithm.',
    ),
    digest: '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
  },
]

describe('RFC 4231', () => {
  it.each(RFC_4231)('signs and verifies $name', async ({ key, data, digest }) => {
    expect(await sign({ body: data, signatureKey: key })).toBe(digest)
    expect(await verify({ body: data, signature: digest, signatureKey: key })).toEqual({
      ok: true,
      keyIndex: 0,
    })
  })

  it('rejects case 5, whose tag is truncated to 128 bits', async () => {
    const key = bytes('0c'.repeat(20))
    const body = Buffer.from('Test With Truncation')
    const signature = 'a3b6167473100ee06e0c796c2955552b'
    expect(createHmac('sha256', key).update(body).digest('hex').startsWith(signature)).toBe(true)
    expect(await verify({ body, signature, signatureKey: key })).toEqual({
      ok: false,
      code: 'signature_malformed',
    })
  })
})
