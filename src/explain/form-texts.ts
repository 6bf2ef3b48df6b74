import { fromBinary } from '../shared/bytes.ts'
import { toBinary } from './bodies/source.ts'
import type { Hypothesis } from './types.ts'
import { MAX_BODY } from './work.ts'

/** A field of a form as it is written, in a binary string. */
export interface FormField {
  name: string
  value: string
  /** The form without this field. */
  rest: string
}

/** Maximum number of fields that are read. */
const MAX_FIELDS = 20

/** Names of fields that contain a signature. */
const SIGNATURE = /(^|[-_])(sig|sign|hmac|hash|checksum|digest|mac)$|signature|x-service/i

/** Reads the fields of a form. Returns an empty list for other bodies, and for large ones. */
export function readFields(body: Uint8Array): FormField[] {
  if (body.length > MAX_BODY) return []
  const form = toBinary(body)
  if (!/^[\w.%[\]-]{1,100}=/.test(form)) return []
  const pairs = form.split('&')
  if (pairs.length > MAX_FIELDS) return []
  return pairs.map((pair, index) => ({
    name: pair.replace(/=.*/s, ''),
    value: pair.slice(pair.indexOf('=') + 1),
    rest: pairs.filter((_, other) => other !== index).join('&'),
  }))
}

/** Yields the form without the field for the signature, which senders sign if the signature is a field of the form. */
export function* formTexts(body: Uint8Array): Generator<Hypothesis> {
  for (const { name, rest } of readFields(body))
    if (SIGNATURE.test(name))
      yield ['signed_text', fromBinary(rest), 'the form without the field for the signature']
}
