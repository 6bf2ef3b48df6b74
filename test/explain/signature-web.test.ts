import { createHash } from 'node:crypto'
import { afterEach, expect, it, vi } from 'vitest'
import { hmac, JSON_BODY, KEY } from './table.ts'

const { getBuiltinModule } = process
const hash = (name: string, text: string): string => createHash(name).update(text).digest('hex')

afterEach(() => {
  vi.resetModules()
})

/** Imports the module as on a platform without node:crypto. */
async function importDigests(): Promise<typeof import('../../src/explain/digests.ts')> {
  process.getBuiltinModule = undefined as never
  vi.resetModules()
  try {
    return await import('../../src/explain/digests.ts')
  } finally {
    process.getBuiltinModule = getBuiltinModule
  }
}

it('computes SHA-1, SHA-256, SHA-384 and SHA-512 with WebCrypto, and skips others', async () => {
  const { ALGORITHMS, hashedBodies, hashOf, hmacSha256 } = await importDigests()
  const compute = async (description: string): Promise<string | undefined> =>
    ALGORITHMS.find((algorithm) => algorithm.description.includes(description))?.compute(KEY, JSON_BODY)
  for (const name of ['SHA-1', 'SHA-384', 'SHA-512']) {
    const id = name.toLowerCase().replace('-', '')
    expect(await compute(`HMAC-${name} instead`)).toBe(hmac(KEY, JSON_BODY, id).toString('hex'))
    expect(await hashOf(id, KEY, JSON_BODY)).toBe(hash(id, KEY + JSON_BODY))
  }
  expect(await hmacSha256('', Buffer.from(JSON_BODY))).toBe(hmac('', JSON_BODY).toString('hex'))
  expect(await compute('HMAC-MD5 instead')).toBeUndefined()
  expect(await hashOf('sha3-256', JSON_BODY)).toBeUndefined()
  const hashes = (await hashedBodies(Buffer.from(JSON_BODY))).map(([, value]) => value)
  expect(hashes).toContain(hash('sha256', JSON_BODY))
  expect(hashes).not.toContain(hash('md5', JSON_BODY))
})
