import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { explain, verify } from 'geohook'
import { describe, expect, it } from 'vitest'
import { character } from '../helpers/character.ts'
import { diagnosisOf } from './question.ts'
import { expectNoSecrets, hmac, KEY } from './table.ts'

/** The seed of this run, shown in the title. To repeat a failure: `SEED=… npm run test:long -- test/explain/properties.long.ts`. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

/** Timeout of each test in milliseconds. A run computes several hundred HMACs, which is slow with WebCrypto. */
const TIMEOUT = 120_000

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.string({ unit: character, maxLength: 100 }),
  fc.json(),
  fc.webQueryParameters(),
  fc.constantFrom(
    '',
    '\n',
    '\ufeff',
    '=',
    '&',
    '{}',
    '%',
    '"\\ud800"',
    '{"toString":1,"__proto__":{"a":null}}',
  ),
)
const keys = fc.oneof(
  fc
    .string({ unit: character, minLength: 8 })
    .filter((key) => /[^\s\0].*[^\s\0]/s.test(key) && key.trim().length > 8),
  fc.uint8Array({ minLength: 9, maxLength: 200 }).filter((key) => key.some((byte) => byte > 0)),
)

/** Functions that write a digest as a signature, in valid and invalid notations. */
const writers = fc.constantFrom<(digest: Buffer) => string>(
  (digest) => digest.toString('hex'),
  (digest) => digest.toString('hex').toUpperCase(),
  (digest) => digest.toString('base64'),
  (digest) => digest.toString('base64url'),
  (digest) => encodeURIComponent(`sha256=${digest.toString('base64')}`),
  (digest) => encodeURIComponent(encodeURIComponent(digest.toString('base64'))),
  (digest) => `${digest.toString('hex')}, ${digest.toString('base64')}`,
  (digest) => digest.toString('hex').slice(0, 40),
  (digest) => ` ${digest.toString('base64')}\n`,
)

describe(`explain, properties, seed ${seed}`, () => {
  const check = <T>(property: fc.IAsyncPropertyWithHooks<T>) => fc.assert(property, { seed, numRuns: 50 })
  const mayBe = (body: string | Uint8Array) =>
    body.length === 0 ? ['body_empty', 'unexplained'] : ['unexplained']

  it(
    'finds no cause for random signatures, and never throws',
    async () => {
      const signatures = fc.oneof(
        fc
          .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), writers)
          .map(([bytes, write]) => write(Buffer.from(bytes))),
        fc.string({ unit: character, minLength: 1, maxLength: 100 }),
      )
      await check(
        fc.asyncProperty(
          bodies,
          fc.array(keys, { minLength: 1, maxLength: 3 }),
          signatures,
          async (body, signatureKey, value) => {
            const options = { body, signatureKey, headers: { 'x-service': value } }
            const diagnosis = await diagnosisOf(options)
            expect(mayBe(body)).toContain(diagnosis.cause)
            expectNoSecrets(diagnosis, options)
          },
        ),
      )
    },
    TIMEOUT,
  )

  it(
    'finds no cause for another key or a truncated body',
    async () => {
      await check(
        fc.asyncProperty(bodies, keys, writers, fc.boolean(), async (body, key, write, isOtherKey) => {
          const unknown = createHash('sha256').update('another key').update(key).digest('hex')
          const digest = isOtherKey
            ? hmac(unknown, body)
            : hmac(key, Buffer.concat([Buffer.from(body as string), Buffer.from(unknown)]))
          const options = { body, signatureKey: key, headers: { 'x-service': write(digest) } }
          const diagnosis = await diagnosisOf(options)
          expect(mayBe(body)).toContain(diagnosis.cause)
          expectNoSecrets(diagnosis, options, [unknown], [digest])
        }),
      )
    },
    TIMEOUT,
  )

  it(
    'reports ok exactly if verify accepts the signature',
    async () => {
      await check(
        fc.asyncProperty(bodies, keys, keys, writers, fc.nat(2), async (body, key, other, write, which) => {
          const signature = write(hmac([key, other, 'neither of them'][which] as string, body))
          const signatureKey = [key, other]
          const verdict = await verify({ body, signature, signatureKey })
          const options = { body, signatureKey, headers: { 'x-service': signature } }
          const diagnosis = await diagnosisOf(options)
          expect(diagnosis.ok).toBe(verdict.ok)
          if (verdict.ok) expect(diagnosis.cause).toBe(verdict.keyIndex === 0 ? 'ok' : 'key_previous')
          expectNoSecrets(diagnosis, options)
        }),
      )
    },
    TIMEOUT,
  )

  it(
    'never throws for any headers',
    async () => {
      const values = fc.oneof(fc.string({ unit: character }), fc.constant(undefined), fc.array(fc.string()))
      await check(
        fc.asyncProperty(
          bodies,
          fc.dictionary(fc.string(), values),
          fc.constantFrom('x-service', 'X-Other', 'a'),
          async (body, headers, signatureHeader) => {
            const { ok, cause } = await explain({ body, headers }, { signatureKey: KEY, signatureHeader })
            expect(ok).toBe(false)
            expect(['signature_header_missing', ...mayBe(body)]).toContain(cause)
          },
        ),
      )
    },
    TIMEOUT,
  )
})

/** Number of requests, and of random signatures in each. `REQUESTS=10000` tests a million signatures. */
const REQUESTS = Number(process.env.REQUESTS ?? 50)
const SIGNATURES = 100

/** Returns deterministic random bytes. */
const random = (...parts: readonly (string | number)[]): Buffer =>
  createHash('sha512')
    .update(JSON.stringify([seed, ...parts]))
    .digest()

it(`finds no cause for ${REQUESTS * SIGNATURES} random signatures, seed ${seed}`, async () => {
  for (let index = 0; index < REQUESTS; index++) {
    const signatures = Array.from({ length: SIGNATURES }, (_, number) => random(index, number))
    const headers = Object.fromEntries(
      signatures.map((bytes, number) => [
        `x-${number}`,
        bytes.subarray(0, 32).toString(number % 2 ? 'hex' : 'base64'),
      ]),
    )
    const text = random(index, 'body').toString(index % 3 ? 'base64' : 'hex')
    const body = JSON.stringify(
      index % 2 ? { events: [{ eventType: text, when: index }] } : [text, index / 7],
    )
    const signatureKey = random(index, 'key').toString('base64')
    const request = { body, headers: { ...headers, 'x-service': headers['x-0'] }, signatureKey }
    const { cause, evidence } = await diagnosisOf(request)
    expect(cause, `request ${index}`).toBe('unexplained')
    expect(evidence).not.toContain(signatureKey)
  }
}, 3_600_000)
