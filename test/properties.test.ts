import fc from 'fast-check'
import { createReceiver, parsePayload, sign, verify } from 'geohook'
import { describe, expect, it } from 'vitest'
import { character } from './helpers/character.ts'
import { FORM_TYPE, JSON_TYPE } from './helpers/deliver.ts'

/** The seed of this run, shown in the title. To repeat a failure: `SEED=… npx vitest run test/properties.test.ts`. */
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const runs = Number(process.env.RUNS ?? 300)
const check = <T>(property: fc.IAsyncPropertyWithHooks<T> | fc.IPropertyWithHooks<T>) =>
  fc.assert(property as fc.IAsyncPropertyWithHooks<T>, { seed, numRuns: runs })

const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.uint8Array({ minLength: 1000, maxLength: 5000 }),
)
/** Excludes keys that could become all zeros, and therefore invalid, if one bit is flipped. */
const isKey = (bytes: Uint8Array): boolean => bytes.filter((byte) => byte !== 0).length > 1
/** A text of only white space and zeros is invalid too. */
const keys = fc.oneof(
  fc.string({ unit: character }).filter((key) => /[^\s\0]/.test(key) && isKey(Buffer.from(key))),
  fc.uint8Array({ maxLength: 200 }).filter(isKey),
)
const encodings = fc.constantFrom<'hex' | 'base64'>('hex', 'base64')
const prefixes = fc.constantFrom('', 'sha256=')

const flipBit = (bytes: Uint8Array, bit: number): Uint8Array => {
  const flipped = Uint8Array.from(bytes)
  const at = bit % (8 * bytes.length)
  flipped[at >> 3] = (flipped[at >> 3] as number) ^ (1 << (at & 7))
  return flipped
}

describe(`properties, seed ${seed}`, () => {
  it('verify accepts signatures of sign, in any encoding, with one key and with a ring', async () => {
    await check(
      fc.asyncProperty(
        bodies,
        keys,
        keys,
        encodings,
        prefixes,
        async (body, key, other, encoding, prefix) => {
          const signature = await sign({ body, signatureKey: key, encoding, prefix })
          expect(await verify({ body, signature, signatureKey: key })).toEqual({ ok: true, keyIndex: 0 })
          expect((await verify({ body, signature, signatureKey: key, encoding })).ok).toBe(true)
          expect(
            (await verify({ body, signature: encodeURIComponent(signature), signatureKey: key })).ok,
          ).toBe(true)
          expect((await verify({ body, signature, signatureKey: [other, key] })).ok).toBe(true)
        },
      ),
    )
  })

  it('verify rejects a changed bit of the body, the signature or the key', async () => {
    await check(
      fc.asyncProperty(bodies, keys, encodings, fc.nat(), async (body, key, encoding, bit) => {
        const signature = await sign({ body, signatureKey: key, encoding })
        if (body.length > 0) {
          expect((await verify({ body: flipBit(body, bit), signature, signatureKey: key })).ok).toBe(false)
        }
        const digest = flipBit(Buffer.from(signature, encoding), bit)
        expect(
          (await verify({ body, signature: Buffer.from(digest).toString(encoding), signatureKey: key })).ok,
        ).toBe(false)
        const keyBytes = typeof key === 'string' ? Buffer.from(key) : key
        expect((await verify({ body, signature, signatureKey: flipBit(keyBytes, bit) })).ok).toBe(false)
      }),
    )
  })

  it('verify rejects a changed bit of the encoded signature, unless it only changes the case of hex', async () => {
    await check(
      fc.asyncProperty(bodies, keys, encodings, fc.nat(), async (body, key, encoding, bit) => {
        const signature = await sign({ body, signatureKey: key, encoding })
        const written = Buffer.from(flipBit(Buffer.from(signature), bit)).toString('latin1')
        const same = encoding === 'hex' && written.toLowerCase() === signature
        expect((await verify({ body, signature: written, signatureKey: key })).ok).toBe(same)
      }),
    )
  })

  const junk = fc.oneof(
    fc.string(),
    fc.string({ unit: character }),
    fc.base64String(),
    fc.json(),
    fc.constant('%'),
    fc.constant('a, b'),
  )

  it('verify neither throws nor accepts for any header', async () => {
    await check(
      fc.asyncProperty(bodies, fc.oneof(junk, fc.anything()), async (body, signature) => {
        expect((await verify({ body, signature: signature as string, signatureKey: 'k' })).ok).toBe(false)
      }),
    )
  })

  const text = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value)
  const field = fc.tuple(junk, junk).map(([name, value]) => `${name}=${value}`)
  const payloads = fc.oneof(
    fc.uint8Array({ maxLength: 400 }) as fc.Arbitrary<Uint8Array<ArrayBuffer>>,
    fc.json().map(text),
    fc.json().map((json) => text(`payload=${json}`)),
    fc
      .json()
      .map((json) => text(`payload=${encodeURIComponent(json.replace(/\p{Surrogate}/gu, ''))}&x-service=00`)),
    fc.array(field, { maxLength: 20 }).map((fields) => text(fields.join('&'))),
    fc
      .record({
        events: fc.anything(),
        changeTypes: fc.anything(),
        changeType: fc.anything(),
        when: fc.anything(),
        info: fc.anything(),
      })
      .map((payload) =>
        text(JSON.stringify(payload, (_, value) => (typeof value === 'bigint' ? String(value) : value))),
      ),
  )
  const types = fc.constantFrom(JSON_TYPE, FORM_TYPE, `${JSON_TYPE}; charset=utf-8`, 'text/plain', '')

  it('parsePayload never throws, and returns events for every payload that it accepts', () => {
    check(
      fc.property(payloads, types, (body, contentType) => {
        const parsed = parsePayload({ body, contentType })
        if (!parsed.ok) {
          expect(parsed.code).toMatch(/^(payload_malformed|content_type_unsupported)$/)
          return
        }
        expect(parsed.events.length).toBeGreaterThan(0)
        for (const event of parsed.events) expect(typeof event.changeType).toBe('string')
        expect(parsed.changeTypes.length).toBe(new Set(parsed.changeTypes).size)
      }),
    )
  })

  it('the receiver never throws, returns 5xx or accepts an unsigned request', async () => {
    const accepted: string[] = []
    const receiver = createReceiver({ signatureKey: 'k', observer: {} }).on('*', (_, delivery) =>
      accepted.push(delivery.id),
    )
    const values = fc.string({ maxLength: 50 }).filter((value) => /^[\x21-\x7e]*$/.test(value))
    await check(
      fc.asyncProperty(
        payloads,
        types,
        values,
        fc.boolean(),
        async (body, contentType, junkHeader, isSigned) => {
          accepted.length = 0
          const signature = isSigned ? await sign({ body, signatureKey: 'k' }) : junkHeader
          const headers = { 'content-type': contentType, 'x-service': signature, 'x-other': junkHeader }
          const response = await receiver.fetch(
            new Request('http://a.example/', { method: 'POST', body, headers }),
          )
          expect(response.status).toBeLessThan(500)
          expect(accepted.length > 0).toBe(response.status === 200)
          if (!isSigned) expect(response.status).toBe(401)
        },
      ),
    )
  })
})
