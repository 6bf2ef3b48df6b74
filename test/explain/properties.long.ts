import { createHash, randomBytes } from 'node:crypto'
import { explain } from 'geohook'
import { expect, it } from 'vitest'
import { describeProperties } from './properties.ts'

describeProperties(50)

/** Number of requests, and of random signatures in each. `REQUESTS=10000` tests a million signatures. */
const REQUESTS = Number(process.env.REQUESTS ?? 50)
const SIGNATURES = 100

const seed = process.env.SEED ?? randomBytes(4).toString('hex')

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
    const { cause, evidence } = await explain(request)
    expect(cause, `request ${index}`).toBe('unexplained')
    expect(evidence).not.toContain(signatureKey)
  }
}, 3_600_000)
