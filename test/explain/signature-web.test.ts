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

it('computes SHA-1, SHA-256, SHA-384 and SHA-512 with WebCrypto', async () => {
  const digests = await importDigests()
  for (const name of ['sha1', 'sha256', 'sha384', 'sha512']) {
    expect(await digests.hmac(name, KEY, JSON_BODY)).toBe(hmac(KEY, JSON_BODY, name).toString('hex'))
    expect(await digests.hashOf(name, KEY, JSON_BODY)).toBe(hash(name, KEY + JSON_BODY))
  }
  expect(await digests.hmacSha256('', Buffer.from(JSON_BODY))).toBe(hmac('', JSON_BODY).toString('hex'))
})

it('skips hashes that WebCrypto lacks', async () => {
  const digests = await importDigests()
  expect(await digests.hmac('md5', KEY, JSON_BODY)).toBeUndefined()
  expect(await digests.hashOf('sha3-256', JSON_BODY)).toBeUndefined()
})

it('computes digests of digests with WebCrypto', async () => {
  await importDigests()
  const { ALGORITHMS } = await import('../../src/explain/algorithms.ts')
  const compute = async (description: string): Promise<string | undefined> =>
    ALGORITHMS.find((algorithm) => algorithm.description.includes(description))?.compute(KEY, JSON_BODY)
  const digest = hmac(KEY, JSON_BODY)
  expect(await compute('hash of the HMAC-SHA256 in hex')).toBe(hash('sha256', digest.toString('hex')))
  expect(await compute('over the SHA-256 hash of the body in hex')).toBe(
    hmac(KEY, hash('sha256', JSON_BODY)).toString('hex'),
  )
  expect(await compute('over the MD5 hash of the body in hex')).toBeUndefined()
})
