import { bodyFormat } from '../../payload/parse.ts'
import { decodeSignature, splitSignedForm } from '../../signature/signature.ts'
import type { HeaderPairs, SignatureFacts } from '../source.ts'
import type { ResolvedOptions } from './options.ts'
import type { Recorded } from './recorded.ts'

/** The signature of a request as it was received. */
export interface FoundSignature {
  value: string
  /** True if the last field of a form contains it. */
  isInField: boolean
}

/** Finds the signature where the receiver does: in the header or, without it, in the last field of a form. */
export function findSignature(
  headers: HeaderPairs,
  body: Uint8Array | undefined,
  signatureHeader: string,
): FoundSignature | undefined {
  const name = signatureHeader.toLowerCase()
  const [value] = valuesOf(headers, name)
  if (value) return { value, isInField: false }
  const [contentType] = valuesOf(headers, 'content-type')
  const form = body && bodyFormat(contentType) === 'form' ? splitSignedForm(body, name) : undefined
  return form && { value: form.signature, isInField: true }
}

/** Returns in which encoding a signature is written; undefined if it is in none. */
export const encodingOf = (value: string): 'hex' | 'base64' | undefined =>
  (['hex', 'base64'] as const).find((encoding) => typeof decodeSignature(value, encoding) !== 'string')

export function signatureFacts(
  { delivery, body }: Recorded,
  headers: HeaderPairs,
  { signatureHeader, secretHeader, encoding, keys }: ResolvedOptions,
  isRefused: boolean,
): SignatureFacts {
  const facts: SignatureFacts = {
    state: isRefused ? 'refused' : delivery?.keyIndex === undefined ? 'unsigned' : 'verified',
    name: secretHeader ?? signatureHeader,
    expectedEncoding: secretHeader
      ? 'none: the key itself'
      : encoding === 'auto'
        ? 'hex or base64'
        : encoding,
    ...(secretHeader === undefined ? {} : { isSecret: true }),
  }
  if (facts.state !== 'verified') return facts
  if (secretHeader !== undefined) return { ...facts, key: keyText(delivery?.keyIndex ?? 0, keys.length) }
  const found = findSignature(headers, body, signatureHeader)
  const sentIn = found && encodingOf(found.value)
  facts.key = keyText(delivery?.keyIndex ?? 0, keys.length)
  facts.encoding = sentIn && (found.isInField ? `${sentIn}, in a form field` : sentIn)
  return facts
}

/** @param count number of keys; 0 if a key function returns them */
function keyText(index: number, count: number): string {
  if (count === 1) return 'the only key'
  const of = count > 1 ? ` of ${count}` : ''
  return `key ${index + 1}${of}${index === 0 ? ' (newest)' : ''}`
}

const valuesOf = (headers: HeaderPairs, lowerCaseName: string): string[] =>
  headers.filter(([name]) => name.toLowerCase() === lowerCaseName).map(([, value]) => value)
