import { bodyFormat } from '../payload/parse.ts'
import { decodeSignature } from '../signature/signature.ts'
import { type Context, toRefused, withKey } from './answers.ts'
import type { RefusalCode } from './causes/refusal.ts'
import { readClaims } from './claims.ts'
import { findMissingSignature } from './explain-signature.ts'
import { askReceiver, type CreateReceiver } from './receiver.ts'
import { explainCode, explainRefusal, neededFor } from './refusals.ts'
import { isComplete, readRequest } from './request.ts'
import { createDecoy, createKeySource } from './request-keys.ts'
import type { Finding } from './types.ts'

const NO_BODY = new Uint8Array()

/** Explains a code without the body: the receiver may refuse a request before it reads the body. */
export async function explainHead(context: Context, createReceiver: CreateReceiver): Promise<Finding> {
  const { question, headers } = context
  const code = context.code as RefusalCode
  const found = isComplete(headers) ? explainHeader(context, code) : undefined
  if (found) return found
  if (code.startsWith('key_') && question.signatureKey) return withKey(code)
  if (neededFor(code) !== 'head') return explainCode(code)
  const answer = await askReceiver(createReceiver, { ...question, body: NO_BODY }, [createDecoy()], headers)
  const isKnown = code !== 'handshake_invalid' || question.url !== undefined
  if (answer.refusal?.code !== code || !isKnown) return explainCode(code)
  return explainRefusal(code, toRefused(context, answer, NO_BODY))
}

/** Explains a code that only one header shows. */
function explainHeader(context: Context, code: RefusalCode): Finding | undefined {
  const { question, headers, field, encoding } = context
  if (code === 'content_type_unsupported' && bodyFormat(headers.get('content-type')) === undefined)
    return explainRefusal(code, toRefused(context, { limit: 0 }, NO_BODY))
  // Without the keys of a key function: they only hide names that contain one.
  const request = readRequest(question, headers, NO_BODY, field, createKeySource(question).keys)
  if (code === 'signature_missing') return findMissingSignature(request, readClaims(request, encoding))
  const isMalformed = typeof decodeSignature(request.value, encoding) === 'string'
  if (code !== 'signature_malformed' || request.value === '' || !isMalformed) return undefined
  const accepted = encoding === 'auto' ? 'hex or base64' : encoding
  return { cause: code, evidence: `The value of the header ${field} is not a signature in ${accepted}.` }
}
