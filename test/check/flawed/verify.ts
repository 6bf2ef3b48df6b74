import { timingSafeEqual } from 'node:crypto'
import { type Given, Refusal, type Steps } from './steps.ts'

/** Compares a signature in hex in constant time. */
export const matches = (signature: string, expected: Buffer): boolean =>
  /^[0-9a-f]{64}$/i.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), expected)

/** @throws {Refusal} */
export const requireRight = (isRight: boolean): void => {
  if (!isRight) throw new Refusal(401, 'unauthorized')
}

/** Returns the step that verifies signatures, which `isRight` gets without a prefix. */
export const verifyWith = (isRight: (given: Given, signature: string) => boolean): Pick<Steps, 'verify'> => ({
  verify: (given, signature = '') => requireRight(isRight(given, signature.replace(/^sha256=/, ''))),
})
