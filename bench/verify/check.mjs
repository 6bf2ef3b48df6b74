import assert from 'node:assert/strict'

/**
 * @typedef {object} Subject whoever verifies signatures in one encoding
 * @property {(body: Buffer) => unknown} sign what the sender would send along
 * @property {(body: Buffer, header: any) => unknown} verify called as its users call it
 * @property {(answer: any) => boolean} [isRight] whether that was a yes; an error is a no. Default: `true` is
 */

export const isTrue = (answer) => answer === true

/**
 * Whoever is measured must give the right answers: a quick wrong one is worth nothing.
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
  assert.equal(await accepts(body, header), true, `${name} accepts the right signature`)
  assert.equal(await accepted(changed, header), false, `${name} refuses a body that was changed`)
  assert.equal(await accepted(body, other), false, `${name} refuses the signature of another body`)
}
