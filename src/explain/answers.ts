import { toTitle, type WebhookError } from '../errors.ts'
import { bodyFormat } from '../payload/parse.ts'
import { receiverPort } from '../receiver/port.ts'
import { createQuietReceiver } from '../receiver/receiver.ts'
import type { HeaderBag, ReceiverOptions, RequestHead } from '../receiver/types.ts'
import { decodeSignature } from '../signature/signature.ts'
import { type RefusalCode, SYMPTOMS } from './causes.ts'
import { readClaims } from './claims.ts'
import { explainMalformed } from './malformed.ts'
import {
  explainAge,
  explainContentType,
  explainEncoding,
  explainHandshake,
  explainIssues,
  explainMethod,
  explainSize,
  type Refused,
  toSentence,
} from './refusals.ts'
import {
  type Context,
  createDecoy,
  createKeySource,
  isComplete,
  type KeySource,
  readRequest,
} from './request.ts'
import { type Finding, found } from './types.ts'
import { findMissingSignature } from './unmatched.ts'

export interface Answer {
  /** The error with which the receiver refuses the request. */
  refusal?: WebhookError | undefined
  isHandshake: boolean
  /** True if the request has no proof, which the receiver accepts. */
  isUnsigned?: boolean
  /** The request as a key function gets it. */
  head: RequestHead
  /** The receiver's maximum body size in bytes. 0 if it has not refused the request. */
  limit: number
}

const NO_BODY = new Uint8Array()

/** Passes a request to a receiver with the same options and these keys, but without handlers and stores. */
export async function askReceiver(
  { request, options, now }: Context,
  signatureKey: KeySource['signatureKey'],
  headers: ReadonlyMap<string, string>,
): Promise<Answer> {
  const { body = NO_BODY, method = 'POST', url = '/', params, remoteAddress } = request
  let head: RequestHead = {
    method,
    url,
    headers: Object.fromEntries(headers) as HeaderBag,
    params,
    remoteAddress,
  }
  const receiver = createQuietReceiver({
    ...options,
    clock: () => now,
    signatureKey,
    unsigned: 'reject', // a receiver that accepts unsigned requests would emit a process warning
    duplicates: undefined,
    inbox: undefined,
    observer: {
      around({ request, run }) {
        head = request
        return run()
      },
      // These functions keep the receiver from logging.
      refused() {},
      failed() {},
    },
  } as ReceiverOptions).on('*', () => {}) // without a handler, it would warn about each change type
  let usedLimit = 0
  const { kind, error } = await receiverPort(receiver).receive({
    ...head,
    read({ onChunk }) {
      onChunk(body)
      return body
    },
    cancel(limit) {
      usedLimit = limit
    },
  })
  return { refusal: error, isHandshake: kind === 'handshake', head, limit: usedLimit }
}

type Explain = (refused: Refused) => Finding | undefined

/**
 * Which part of a request a code depends on, and how to find the cause there. The other codes depend on the state of the
 * receiver, which the request does not show.
 */
const EXPLAIN: Partial<Record<RefusalCode, readonly [needs: 'head' | 'body', explain?: Explain]>> = {
  // With a body, the search finds the cause.
  signature_missing: ['body'],
  signature_malformed: ['body'],
  signature_mismatch: ['body'],
  method_not_allowed: ['head', explainMethod],
  handshake_invalid: ['head', explainHandshake],
  content_encoding_unsupported: ['head', explainEncoding],
  content_type_unsupported: ['head', explainContentType],
  body_too_large: ['head', explainSize],
  payload_malformed: ['body', explainMalformed],
  payload_invalid: ['body', explainIssues],
  delivery_stale: ['body', explainAge],
}

export const isOfReceiver = (code: RefusalCode | undefined): boolean =>
  code !== undefined && EXPLAIN[code] === undefined

function explainRefusal(
  context: Context,
  code: RefusalCode,
  { refusal, limit }: Pick<Answer, 'refusal' | 'limit'>,
  keys: readonly Uint8Array[] = [],
): Finding {
  const { body = NO_BODY, method = 'POST', url = '/' } = context.request
  const message = refusal?.message ?? ''
  const cause = refusal?.cause
  const known = EXPLAIN[code]?.[1]?.({ ...context, message, cause, body, method, url, keys, limit })
  if (known) return known
  // The receiver's message as a sentence, or the symptom if the message only repeats the code.
  const isCode = message === '' || message === toTitle(code)
  return found(code, isCode ? SYMPTOMS[code] : toSentence(message))
}

const explainCode = (code: RefusalCode): Finding =>
  found(code, `The receiver reported ${code}. ${SYMPTOMS[code]}`)

/** Explains a code for a missing key, although the options have a key. */
const withKey = (code: RefusalCode): Finding =>
  found(code, `The receiver reported ${code}, but the options give a key for this request here.`)

/** How senders prove that they know the key: with a signature of the body, or with the key itself in a header. */
export interface Scheme {
  /** A header value in a valid format, for requests whose body is unknown. */
  placeholder: string
  /** Returns a value that proves this key. */
  prove(key: Uint8Array, body: Uint8Array): string | Promise<string>
  /** True if the value in the request cannot be compared with the key here. */
  isHidden: boolean
  /** Explains a code without the body. Undefined to explain it like any other code. */
  explainCode(keys: readonly Uint8Array[]): Promise<Finding | undefined>
  /** Explains why the receiver with these keys finds no valid proof. */
  explainMismatch(keys: readonly Uint8Array[]): Promise<readonly Finding[]>
  /** Explains a request that the receiver with these keys accepts. */
  accept(keys: readonly Uint8Array[], answer: Answer): Finding | Promise<Finding>
  /** Says in a sentence whether the proof is valid, for codes that do not depend on it. */
  describe(keys: readonly Uint8Array[]): string | Promise<string>
}

/** Explains what a receiver does with a request whose signature is valid or was not checked. */
export async function explainAnswer(
  context: Context,
  answer: Answer,
  scheme: Scheme,
  keys: readonly Uint8Array[],
): Promise<Finding> {
  const { options, headers, code } = context
  const refused = answer.refusal?.code as RefusalCode | undefined
  if (code && isOfReceiver(code)) {
    const { cause, evidence } = code.startsWith('key_') ? withKey(code) : explainCode(code)
    // The body of these is not known completely, so the signature cannot be checked.
    const isCutOff = code === 'body_timeout' || code === 'body_aborted'
    return { cause, evidence: isCutOff ? evidence : `${evidence} ${await scheme.describe(keys)}` }
  }
  // With incomplete headers, a refusal of the content type or the payload proves nothing: the header may be missing
  // only from the question.
  const isCertain =
    isComplete(headers) || refused === code || !/^content_type_|^payload_/.test(refused as string)
  if (refused && isCertain) return explainRefusal(context, refused, answer, keys)
  const option = code === 'payload_invalid' ? 'schema' : 'maxAge'
  if (code && ['payload_invalid', 'delivery_stale'].includes(code) && options[option] === undefined) {
    const { cause, evidence } = explainCode(code)
    const why = `The option ${option} was not given, so the reason is not known here.`
    return { cause, evidence: `${evidence} ${why}` }
  }
  const accepted = await scheme.accept(keys, answer)
  if (!code) return accepted
  const why = `The receiver that reported ${code} had other keys or options, or got another request.`
  return { ...accepted, evidence: `${accepted.evidence} ${why}` }
}

/** Explains a code without the body: the receiver may refuse a request before it reads the body. */
export async function explainHead(context: Context): Promise<Finding> {
  const { request, options, headers } = context
  const code = context.code as RefusalCode
  const known = isComplete(headers) ? explainHeader(context, code) : undefined
  if (known) return known
  if (code.startsWith('key_') && options.signatureKey) return withKey(code)
  if (EXPLAIN[code]?.[0] !== 'head') return explainCode(code)
  const answer = await askReceiver(context, [createDecoy()], headers)
  const isKnown = code !== 'handshake_invalid' || request.url !== undefined
  if (answer.refusal?.code !== code || !isKnown) return explainCode(code)
  return explainRefusal(context, code, answer)
}

/** Explains a code that only one header shows. */
function explainHeader(context: Context, code: RefusalCode): Finding | undefined {
  const { options, headers, field, encoding } = context
  if (code === 'content_type_unsupported' && bodyFormat(headers.get('content-type')) === undefined)
    return explainRefusal(context, code, { limit: 0 })
  // Without the keys of a key function: they only hide names that contain one.
  const request = readRequest(context, NO_BODY, createKeySource(options).keys)
  if (code === 'signature_missing') return findMissingSignature(request, readClaims(request, encoding))
  const isMalformed = typeof decodeSignature(request.value, encoding) === 'string'
  if (code !== 'signature_malformed' || request.value === '' || !isMalformed) return undefined
  const accepted = encoding === 'auto' ? 'hex or base64' : encoding
  return found(code, `The value of the header ${field} is not a signature in ${accepted}.`)
}
