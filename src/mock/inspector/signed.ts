import { bodyFormat } from '../../payload/parse.ts'
import { toBinary } from '../../shared/bytes.ts'
import { createRedactor, type Redactor } from '../../shared/redact.ts'
import { DEFAULT_SIGNATURE_HEADER, verify } from '../../signature/signature.ts'
import type { Attempt } from '../delivery/attempt.ts'
import type { Mock } from '../service.ts'

/** Where the request of an attempt has its signature, and the bytes that it covers. */
interface Signed {
  signature: string
  bytes: Uint8Array
  /** Position of the form field with the signature; undefined if the signature is in a header. */
  fieldStart?: number
}

/** Name of the header or form field with the signature. */
export const signatureNameOf = ({ options }: Mock): string =>
  options.signature.signatureHeader ?? DEFAULT_SIGNATURE_HEADER

export const contentTypeOf = ({ request }: Attempt): string => request.headers['content-type'] ?? ''

const PAYLOAD = 'payload='

/** Finds the signature of an attempt. Returns undefined if the attempt is not signed. */
export function findSignature(mock: Mock, attempt: Attempt): Signed | undefined {
  const { headers, body } = attempt.request
  const name = signatureNameOf(mock)
  const inHeader = headers[name]
  if (inHeader !== undefined) return { signature: inHeader, bytes: body }
  if (mock.options.signature.signatureIn !== 'field' || bodyFormat(contentTypeOf(attempt)) !== 'form')
    return undefined
  // The signature is always the last field.
  const text = toBinary(body)
  const fieldStart = text.lastIndexOf(`&${name}=`)
  if (fieldStart === -1) return undefined
  const [signature = ''] = new URLSearchParams(text.slice(fieldStart + 1)).values()
  return { signature, bytes: body.subarray(PAYLOAD.length, fieldStart), fieldStart }
}

/** True if the signature of an attempt is right for a key. */
export async function isSignedWith(mock: Mock, attempt: Attempt, signatureKey: string): Promise<boolean> {
  const signed = findSignature(mock, attempt)
  if (!signed || signatureKey === '') return false
  const { signature, bytes: body } = signed
  return (await verify({ body, signature, signatureKey })).ok
}

/** The last redactor of each mock and its keys: with thousands of webhooks, making one for every row would be slow. */
const last = new WeakMap<Mock, { keys: ReadonlySet<string>; redactor: Redactor }>()

/** Hides the keys of all webhooks, and those of the deliveries, whose webhooks may have been edited or deleted. */
export function redactAll(mock: Mock): Redactor {
  const keys = new Set([
    ...mock.state.webhooks.list().map(({ signatureKey }) => signatureKey),
    ...mock.engine.records.list().map(({ webhook }) => webhook.signatureKey),
  ])
  const known = last.get(mock)
  if (known && isSame(known.keys, keys)) return known.redactor
  const redactor = createRedactor([...keys], { signatureHeader: signatureNameOf(mock) })
  last.set(mock, { keys, redactor })
  return redactor
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((key) => b.has(key))
