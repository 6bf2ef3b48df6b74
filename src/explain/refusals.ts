import { toTitle } from '../errors.ts'
import { CODE_CAUSES, type RefusalCode } from './causes/refusal.ts'
import { explainBody } from './refusals/body.ts'
import { explainContentType } from './refusals/content-type.ts'
import { explainEncoding, explainHandshake, explainMethod } from './refusals/head.ts'
import { explainAge, explainIssues } from './refusals/payload.ts'
import { grouped, type Refused } from './refusals/refused.ts'
import type { Finding } from './types.ts'

/** How to explain a code, and which part of the request that takes. */
type Explanation =
  | { needs: 'head' | 'body'; explain(refused: Refused): Finding | undefined }
  // The state of the receiver decides, which the request does not show.
  | { needs: 'receiver' }

const STATE: Explanation = { needs: 'receiver' }
const nothing = (): undefined => undefined

/** Every code. A new one does not compile without an entry. */
const EXPLANATIONS: Readonly<Record<RefusalCode, Explanation>> = {
  // With a body, explain-signature.ts searches for the cause.
  signature_missing: { needs: 'body', explain: nothing },
  signature_malformed: { needs: 'body', explain: nothing },
  signature_mismatch: { needs: 'body', explain: nothing },
  method_not_allowed: { needs: 'head', explain: explainMethod },
  handshake_invalid: { needs: 'head', explain: explainHandshake },
  content_encoding_unsupported: { needs: 'head', explain: explainEncoding },
  content_type_unsupported: { needs: 'head', explain: explainContentType },
  body_too_large: { needs: 'head', explain: explainSize },
  payload_malformed: { needs: 'body', explain: explainBody },
  payload_invalid: { needs: 'body', explain: explainIssues },
  delivery_stale: { needs: 'body', explain: explainAge },
  key_unknown: STATE,
  key_unavailable: STATE,
  delivery_in_progress: STATE,
  handler_failed: STATE,
  inbox_unavailable: STATE,
  receiver_busy: STATE,
  receiver_closed: STATE,
  body_timeout: STATE,
  body_aborted: STATE,
  body_already_parsed: STATE,
}

export const isCode = (code: string): code is RefusalCode => Object.hasOwn(EXPLANATIONS, code)

export const neededFor = (code: RefusalCode): Explanation['needs'] => EXPLANATIONS[code].needs

function explainSize({ headers, body, limit }: Refused): Finding | undefined {
  const length = Number(headers.get('content-length'))
  const isAnnounced = length > limit && length !== body.length
  if (!isAnnounced && body.length <= limit) return undefined
  const evidence = isAnnounced
    ? `The header content-length says ${grouped(length)} bytes; the limit is ${grouped(limit)}.`
    : `The body has ${grouped(body.length)} bytes; the limit is ${grouped(limit)}.`
  return { cause: 'body_too_large', evidence }
}

/** Explains why a receiver refuses a request whose signature is valid or was not checked. */
export function explainRefusal(code: RefusalCode, refused: Refused): Finding {
  const explanation = EXPLANATIONS[code]
  const found = explanation.needs === 'receiver' ? undefined : explanation.explain(refused)
  return found ?? { cause: code, evidence: generalEvidence(code, refused.message) }
}

/** Explains a code by itself, without the request. */
export const explainCode = (code: RefusalCode): Finding => ({
  cause: code,
  evidence: `The receiver reported ${code}. ${CODE_CAUSES[code].symptom}`,
})

/** Writes the receiver's message as a sentence, or the symptom if the message only repeats the code. */
const generalEvidence = (code: RefusalCode, message: string): string =>
  message === '' || message === toTitle(code)
    ? CODE_CAUSES[code].symptom
    : `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`
