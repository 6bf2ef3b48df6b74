import { toBinary } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Finding } from './explain-types.ts'
import type { ReceivedRequest } from './read-request.ts'
import { hmacSha256, isDigest } from './recompute.ts'

/** Finds a valid signature in another header, or in a form field. */
export async function findInOtherPlace(request: ReceivedRequest): Promise<Finding | undefined> {
  const { body, headers, keys } = request
  for (const key of keys) {
    const digest = await hmacSha256(key, body)
    for (const [name, value] of headers) {
      if (!isDigest(percentDecode(value), digest)) continue
      const evidence = `The header ${name} contains the valid signature.`
      return { cause: 'signature_in_other_header', evidence }
    }
  }
  return findInField(request)
}

const AMPERSAND = 0x26
const EQUALS = 0x3d

/** Finds a valid signature in the last field of a form, whatever its name: `payload=<bytes>&<name>=<signature>`. */
async function findInField({ body, keys }: ReceivedRequest): Promise<Finding | undefined> {
  const end = body.lastIndexOf(AMPERSAND)
  const start = body.indexOf(EQUALS) + 1
  // Read one character more than the pattern allows, so that a longer field does not match.
  const field = toBinary(body.subarray(end + 1, end + 403))
  const [, name, signature] = /^([\w.%-]{1,100})=(.{1,300})$/s.exec(field) ?? []
  if (end < start || !name || !signature) return undefined
  for (const key of keys) {
    if (isDigest(percentDecode(signature), await hmacSha256(key, body.subarray(start, end)))) {
      const evidence = `The form field ${name} contains the valid signature of the field before it.`
      return { cause: 'signature_in_form_field', evidence }
    }
  }
  return undefined
}
