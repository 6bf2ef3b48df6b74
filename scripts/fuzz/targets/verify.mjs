// verify() returns ok for exactly those signatures that node:crypto computes over the same bytes, read without code of
// geohook. Otherwise it returns the documented code. It never throws.
//
// An input is a character that selects the encoding and the keys, the header's value, a line break, and the body.
import { verify } from '../../../src/signature/signature.ts'
import { fill, hmac, KEY, readSignature, require, splitLine } from './support.mjs'

const ENCODINGS = ['auto', 'hex', 'base64', 'auto']
const OLD_KEY = Buffer.from([0, 255, 1, 254])
const BOTH = [KEY, OLD_KEY]

export const words = ['{hex}', '{base64}', 'sha256=', '%3d', '%2B', '%73ha256%3D']
export const seeds = [
  '0{hex}\n{}',
  '1sha256={hex}\n',
  '2{base64}\n{"events":[]}',
  '4{hex}\nx',
  '8{base64}\n{}',
]

export async function run(input) {
  const [line, body] = splitLine(input)
  const options = line.charCodeAt(0) & 15
  const encoding = ENCODINGS[options & 3]
  const signer = options & 4 ? OLD_KEY : KEY
  const keys = options & 8 ? BOTH : [KEY]
  const signature = fill(line.slice(1), body, signer)
  const signatureKey = options & 8 ? BOTH : KEY
  const verdict = await verify({ body, signature, signatureKey, encoding })

  const bytes = readSignature(signature, encoding)
  if (typeof bytes === 'string')
    return require(!verdict.ok && verdict.code === bytes, 'expected', bytes, verdict)
  const keyIndex = keys.findIndex((key) => hmac(key, body).equals(bytes))
  if (keyIndex < 0)
    require(!verdict.ok && verdict.code === 'signature_mismatch', 'expected a mismatch', verdict)
  else require(verdict.ok && verdict.keyIndex === keyIndex, 'expected key', keyIndex, verdict)
}
