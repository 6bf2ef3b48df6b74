import assert from 'node:assert/strict'

/**
 * @typedef {object} Subject a verifier of signatures in one encoding
 * @property {(body: Buffer) => unknown} sign returns the signature that the sender would send
 * @property {(body: Buffer, header: any) => unknown} verify calls the package as its users do
 * @property {(result: any) => boolean} [isRight] returns whether a result means success. Default: only `true` does
 */

export const isTrue = (result) => result === true

/**
 * Checks that a subject accepts valid signatures and rejects invalid ones.
 *
 * @param {string} name
 * @param {Subject} subject
 * @param {Buffer} body
 */
export async function requireRight(name, { sign, verify, isRight = isTrue }, body) {
  const accepts = async (body, header) => isRight(await verify(body, header))
  const accepted = (body, header) => accepts(body, header).catch(() => false)
  const changed = Buffer.from(body)
  const middle = body.length >> 1
  changed[middle] = body[middle] === 0x79 ? 0x78 : 0x79
  const [header, other] = [sign(body), sign(changed)]
  assert.equal(await accepts(body, header), true, `${name} accepts a valid signature`)
  assert.equal(await accepted(changed, header), false, `${name} rejects a changed body`)
  assert.equal(await accepted(body, other), false, `${name} rejects the signature of another body`)
}
