import { createHmac, timingSafeEqual } from 'node:crypto'

/** Verifies a signature without a package. @param {Uint8Array} body @param {string | undefined} signature in hex */
export function isSigned(body, signature, key) {
  const expected = createHmac('sha256', key).update(body).digest()
  const given = Buffer.from(signature ?? '', 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
