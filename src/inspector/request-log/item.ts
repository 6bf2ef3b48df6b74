import { explainSeen } from '../../explain/explain.ts'
import type { Diagnosis } from '../../explain/types.ts'
import type { HeaderBag, ReceiverOptions } from '../../receiver/types.ts'
import { toPairs } from '../../shared/headers.ts'
import type { Redactor } from '../../shared/redact.ts'
import { isSuccess } from '../../shared/status.ts'
import { decodeSignature } from '../../signature/signature.ts'
import { findSignature, headerOf, keyText, pathOf } from '../request.ts'
import type { AttemptEntry, Item, Row, RowOutcome, SignatureFacts } from '../source.ts'
import type { ResolvedOptions } from './options.ts'
import type { Recorded } from './record.ts'

/** Characters of a path in a row. Senders choose it, and the list has 1,000 rows. */
const MAX_TARGET = 200

/**
 * Converts a request to a row. Requests of the same delivery are separate rows: each is what the receiver saw, with its
 * own headers and outcome, and the later ones have the word `duplicate`.
 *
 * A refused request has no change types, because its payload is not verified.
 */
export function toRow(recorded: Recorded, { text }: Redactor): Row {
  const { id, time, request, size, milliseconds, delivery, code } = recorded
  const path = pathOf(request.url)
  return {
    id,
    time,
    changeTypes: delivery?.changeTypes ?? [],
    service: delivery?.service,
    webhook: delivery?.webhook,
    target: text(path, MAX_TARGET) + (path.length > MAX_TARGET ? '…' : ''),
    outcome: outcomeOf(recorded),
    attempts: 1,
    size: size ?? toLength(headerOf(toPairs(request.headers), 'content-length')),
    milliseconds,
    note: code,
  }
}

/** Size of a body that was not read, according to the sender; 0 if unknown. */
function toLength(text: string | undefined): number {
  const length = Number(text)
  return Number.isSafeInteger(length) && length >= 0 ? length : 0
}

const TONES: Readonly<Record<Recorded['kind'], RowOutcome['tone']>> = {
  handled: 'good',
  stored: 'good',
  unhandled: 'neutral',
  duplicate: 'neutral',
  handshake: 'neutral',
  refused: 'bad',
  failed: 'bad',
}

/** `forwarded` and `answered` say that the sender got the response of a target, or that of `--answer`. */
export function outcomeOf({ kind, answer, sent }: Recorded): RowOutcome {
  if (!sent || (sent.status === answer.status && !sent.forwarded))
    return { tone: TONES[kind], word: kind, status: answer.status }
  const { status, forwarded } = sent
  const tone = isSuccess(status) ? TONES[kind] : 'bad'
  if (forwarded && 'error' in forwarded) return { tone: 'bad', word: 'unreachable', status }
  if (kind === 'refused') return { tone, word: kind, status }
  return { tone, word: forwarded ? 'forwarded' : 'answered', status }
}

/** @param explain explains the request, if it was refused */
export function toItem(
  recorded: Recorded,
  options: ResolvedOptions,
  redactor: Redactor,
  explain: () => Promise<Diagnosis | undefined>,
  others: readonly string[],
): Item {
  const { body, kind, code, error } = recorded
  const { method, url } = recorded.request
  const headers = redactor.headers(recorded.request.headers)
  const contentType = headerOf(headers, 'content-type') ?? ''
  const request = { method, url: redactor.text(url), headers, body, contentType }
  return {
    ...toRow(recorded, redactor),
    request,
    attemptLog: [attemptOf(recorded, redactor)],
    facts: factsOf(recorded, others),
    signature: signatureFacts(recorded, request, options),
    code,
    error,
    ...(kind === 'refused' && { explain: async () => hideInDiagnosis(await explain(), redactor) }),
  }
}

/** Hides secrets in a diagnosis. Its evidence can quote names of headers and parameters, which senders choose. */
const hideInDiagnosis = (diagnosis: Diagnosis | undefined, { text }: Redactor): Diagnosis | undefined =>
  diagnosis && { ...diagnosis, evidence: text(diagnosis.evidence), fix: text(diagnosis.fix) }

function attemptOf(recorded: Recorded, redactor: Redactor): AttemptEntry {
  const { time, milliseconds, kind, request, answer, sent, code } = recorded
  const { status, tone } = outcomeOf(recorded)
  const forwarded = sent?.forwarded
  const isForwarded = forwarded !== undefined && 'answer' in forwarded
  const given = isForwarded
    ? forwarded.answer
    : { headers: Object.entries(answer.headers), body: answer.body }
  // The response to a handshake contains a signature, with which someone else could pass a handshake.
  const isShown = given && request.method !== 'GET' && (isForwarded || status === answer.status)
  return {
    number: 1,
    time,
    tone,
    result: String(status),
    milliseconds,
    note: [code ?? kind, ...notesOf(recorded, redactor)].join('; '),
    answer: isShown
      ? { headers: redactor.headers(given.headers), body: redactor.text(given.body) }
      : undefined,
  }
}

function* notesOf({ sent }: Recorded, { text }: Redactor): Generator<string> {
  const forwarded = sent?.forwarded
  if (forwarded)
    yield 'error' in forwarded ? text(forwarded.error) : `the target answered ${forwarded.status}`
  if (sent?.disconnected) yield 'the sender closed the connection before the response'
}

const factsOf = ({ delivery, request, answer, sent }: Recorded, others: readonly string[]): Item['facts'] => [
  ['Response', String(sent?.status ?? answer.status)],
  ['Delivery', delivery?.id],
  ['Same delivery', others.join(', ')],
  ['Profile', delivery?.profile],
  ['Tenant', delivery?.tenant],
  ['Sender', request.remoteAddress],
]

/** Returns in which encoding a signature is written; undefined if it is in none. */
export const encodingOf = (value: string): 'hex' | 'base64' | undefined =>
  (['hex', 'base64'] as const).find((encoding) => typeof decodeSignature(value, encoding) !== 'string')

function signatureFacts(
  { delivery, kind }: Recorded,
  request: Item['request'],
  { signatureHeader, secretHeader, encoding, keyCount }: ResolvedOptions,
): SignatureFacts {
  const keyIndex = delivery?.keyIndex
  const state = kind === 'refused' ? 'refused' : keyIndex === undefined ? 'unsigned' : 'verified'
  const key = state === 'verified' ? keyText(keyIndex ?? 0, keyCount) : undefined
  if (secretHeader !== undefined)
    return { state, name: secretHeader, expectedEncoding: 'none: the key itself', isSecret: true, key }
  const found = state === 'verified' ? findSignature(request, signatureHeader) : undefined
  const sentIn = found && encodingOf(found.value)
  return {
    state,
    name: signatureHeader,
    expectedEncoding: encoding === 'auto' ? 'hex or base64' : encoding,
    key,
    encoding: sentIn && (found.isInField ? `${sentIn}, in a form field` : sentIn),
  }
}

/**
 * Returns a function that explains a request: only when a page asks, once for each request, and one at a time, because
 * an explanation can take 50 ms. Resolves with undefined if the options of the receiver are invalid.
 */
export function createExplainer(
  options: Partial<ReceiverOptions>,
): (recorded: Recorded) => Promise<Diagnosis | undefined> {
  let last: Promise<unknown> = Promise.resolve()

  async function run({ request, body, code, decidedAt }: Recorded): Promise<Diagnosis | undefined> {
    if (code === undefined) return undefined
    const headers = request.headers as HeaderBag // or pairs, which `explain` takes too
    return explainSeen({ ...request, headers, body, code }, options, decidedAt)
  }

  return (recorded) => {
    if (!recorded.diagnosis) {
      recorded.diagnosis = last.then(() => run(recorded)).catch(() => undefined)
      last = recorded.diagnosis
    }
    return recorded.diagnosis
  }
}
