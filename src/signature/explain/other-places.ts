import { toBinary } from '../bytes.ts'
import { percentDecode } from '../encoding.ts'
import type { Case } from './read-request.ts'
import { type Finding, isWriting, mac } from './recompute.ts'

/** The right signature, but not where it was looked for. */
export async function explainElsewhere(given: Case): Promise<Finding | undefined> {
  const { body, headers, keys } = given
  for (const key of keys) {
    const digest = await mac(key, body)
    for (const [name, value] of headers) {
      if (isWriting(percentDecode(value), digest)) {
        return {
          cause: 'signature_in_other_header',
          evidence: `The header ${name} holds the right signature.`,
        }
      }
    }
  }
  return explainField(given)
}

/** `payload=<signed bytes>&<any name>=<signature>`, with the signature field at the end. */
async function explainField({ body, keys }: Case): Promise<Finding | undefined> {
  const end = body.lastIndexOf(0x26) // &
  const [, name, signature] =
    /^([\w.%-]{1,100})=(.{1,300})$/s.exec(toBinary(body.subarray(end + 1, end + 403))) ?? []
  const from = body.indexOf(0x3d) + 1 // =
  if (end < from || !name || !signature) return undefined
  for (const key of keys) {
    if (isWriting(percentDecode(signature), await mac(key, body.subarray(from, end)))) {
      const evidence = `The form field ${name} holds the right signature of the field before it.`
      return { cause: 'signature_in_form_field', evidence }
    }
  }
  return undefined
}
