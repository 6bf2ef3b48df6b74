import { ERROR_CODES, type ErrorCode } from '../../errors.ts'
import { explain } from '../../explain/explain.ts'
import type { AttemptEntry, Explanation, Item, SignatureFacts } from '../../inspector/source.ts'
import { isObject, tryJson } from '../../shared/json.ts'
import type { Redactor } from '../../shared/redact.ts'
import { FAULTS, type FaultName } from '../faults/faults.ts'
import type { Mock } from '../service.ts'
import type { Attempt } from '../state/records.ts'
import type { Webhook } from '../state/webhooks.ts'
import { has } from '../versions.ts'
import {
  type Attempts,
  contentTypeOf,
  findSignature,
  isSignedWith,
  lastOf,
  OUTCOMES,
  outcomeOf,
  redactAll,
  signatureNameOf,
  toRow,
} from './deliveries.ts'

/** A delivery with its last request and all attempts. Keys are hidden. */
export function toItem(mock: Mock, attempts: Attempts): Item {
  const last = lastOf(attempts)
  const redactor = redactAll(mock)
  const hide = redactor.text
  const row = toRow(mock, attempts, redactor)
  const { method, body } = last.request
  const contentType = contentTypeOf(last)
  return {
    ...row,
    request: {
      method,
      url: pathOf(hide(last.hookUrl)),
      address: hide(last.hookUrl),
      headers: redactor.headers(last.request.headers),
      body,
      contentType,
    },
    attemptLog: attempts.map((attempt) => toEntry(attempt, redactor)),
    facts: factsOf(mock, last),
    signature: signatureOf(mock, last),
    code: codeOf(last),
    error: last.error === undefined ? undefined : hide(last.error),
    ...(row.outcome.word === OUTCOMES.refused ? { explain: () => explainRefused(mock, attempts) } : {}),
  }
}

const pathOf = (hookUrl: string): string =>
  URL.canParse(hookUrl) ? new URL(hookUrl).pathname + new URL(hookUrl).search : hookUrl

function toEntry(attempt: Attempt, redactor: Redactor): AttemptEntry {
  const { number, sentAt, milliseconds, answer, error, fault } = attempt
  const { tone, word, status } = outcomeOf(attempt)
  const notes = [fault && `fault ${fault}`, error && redactor.text(error)].filter(Boolean)
  return {
    number,
    time: new Date(sentAt),
    tone,
    result: status === undefined ? word : String(status),
    milliseconds,
    note: notes.length > 0 ? notes.join('; ') : undefined,
    answer: answer && { headers: redactor.headers(answer.headers), body: redactor.text(answer.body) },
  }
}

function factsOf({ state }: Mock, last: Attempt): [string, string][] {
  const { webhookId, fault, bytesSent } = last
  const facts: [string, string][] = [
    ['Webhook id', state.webhooks.get(webhookId) ? webhookId : `${webhookId} (deleted)`],
  ]
  if (fault) facts.push(['Fault', `${fault}: ${FAULTS[fault]}`])
  if (bytesSent !== undefined) facts.push(['Bytes sent', String(bytesSent)])
  return facts
}

function signatureOf(mock: Mock, last: Attempt): SignatureFacts {
  const { encoding = 'hex', prefix } = mock.options.signature
  const name = signatureNameOf(mock)
  const isSigned = findSignature(mock, last) !== undefined
  const text = prefix ? `${encoding} after ${prefix}` : encoding
  return {
    state: isSigned ? 'signed' : 'unsigned',
    name,
    expectedEncoding: text,
    encoding: isSigned ? text : undefined,
  }
}

/** Code in a problem document (RFC 9457) with which the receiver refused the delivery. */
function codeOf({ answer }: Attempt): string | undefined {
  const json = answer && answer.status >= 400 ? tryJson(answer.body) : undefined
  return isObject(json) && /^\w{1,64}$/.test(String(json.code)) ? String(json.code) : undefined
}

/**
 * Explains why a receiver refused an attempt. The mock knows the key and the faults, so it looks at these first; then
 * it asks what a receiver with the key of the webhook would say.
 */
async function explainRefused(mock: Mock, attempts: Attempts): Promise<Explanation | undefined> {
  const attempt = lastOf(attempts)
  const { answer, webhookId, request, hookUrl, id } = attempt
  const { signature } = mock.options
  const sent = mock.engine.log.records.get(id)?.webhook
  const webhook = mock.state.webhooks.get(webhookId) ?? sent
  const fault = faultOf(attempts)
  if (!answer || (!fault && (!webhook || !sent))) return undefined
  const said = `The receiver answered ${answer.status}.`
  const withAnswer = ([cause, evidence, fix]: Known): Explanation => ({
    cause,
    evidence: `${evidence} ${said}`,
    fix,
  })
  if (fault)
    return withAnswer([
      `fault ${fault}`,
      `The mock injected the fault ${fault}: ${FAULTS[fault]}.`,
      'Nothing, if the receiver should refuse this. To send a delivery without the fault, remove the fault if it is still armed, and trigger the event again.',
    ])
  if (!webhook || !sent) return undefined
  const known = answer.status === 401 ? await unauthorized(mock, attempt, webhook, sent) : undefined
  if (known) return withAnswer(known)
  const { body, headers, method } = request
  const code = codeOf(attempt)
  const { signatureKey } = webhook
  const unsigned = signatureKey === '' ? 'accept' : 'reject'
  const { signatureHeader, encoding } = signature
  const url = new URL(hookUrl).pathname
  const diagnosis = await explain(
    { body, headers, method, url, code: isCodeOf(code, answer.status) ? code : undefined },
    { signatureKey, unsigned, signatureHeader, encoding },
  )
  if (!diagnosis.ok) return diagnosis
  return withAnswer([
    'the receiver itself',
    'The signature is right for the key of the webhook, and a receiver with this key accepts the request.',
    'Look at the response in "Attempts", and at the log of the receiver.',
  ])
}

/** True for a code with which a geohook receiver answers with this status. */
const isCodeOf = (code: string | undefined, status: number): code is ErrorCode =>
  Object.entries(ERROR_CODES).some(([name, [expected]]) => name === code && expected === status)

type Known = readonly [cause: string, evidence: string, fix: string]

/** What the mock knows about a delivery that a receiver refused with 401. */
async function unauthorized(
  mock: Mock,
  attempt: Attempt,
  webhook: Readonly<Webhook>,
  sent: Readonly<Webhook>,
): Promise<Known | undefined> {
  const { version, dialect } = mock.options
  if (dialect === 'organization' || sent.serviceType === 'Portal')
    return [
      'the receiver expects another secret',
      `In this dialect the service does not sign: it sends ${sent.signatureKey ? 'the key in the header secret' : 'no key, because the webhook has none'}.`,
      'Give the webhook and the receiver the same key, and let the receiver compare it with the header secret.',
    ]
  if (!has(version, 'signature'))
    return [
      'the service does not sign',
      `A service of version ${version} does not sign its deliveries.`,
      "Use a service of version 11.2 or later, or let the receiver accept unsigned requests with unsigned: 'accept'.",
    ]
  if (sent.signatureKey === '')
    return [
      'the webhook has no key',
      'The webhook had no signature key, so the delivery is not signed.',
      'Give the webhook the key of the receiver.',
    ]
  if (sent.signatureKey !== webhook.signatureKey)
    return [
      'the key of the webhook has changed',
      'The delivery was signed before the key of the webhook was edited.',
      'Use "Edit and sign" to send the body again with the current key.',
    ]
  if (await isSignedWith(mock, attempt, webhook.signatureKey))
    return [
      'the receiver has another key, or the bytes changed on the way',
      `The signature is right for the key of the webhook and the ${attempt.request.body.length} bytes that were sent.`,
      'Compare the key of the receiver with that of the webhook. If they are equal, something between them changes the body, for example a proxy or a body parser: set SIGNATURE_KEY, run "npx geohook listen --save captures" at the address of the receiver, then "npx geohook explain captures".',
    ]
  return undefined
}

/** The fault of the last attempt, or the one that changed its bytes: a resend sends these again. */
function faultOf(attempts: Attempts): FaultName | undefined {
  const { fault, request } = lastOf(attempts)
  return (
    fault ??
    attempts.find((other) => other.fault && isAltered(other) && other.request.body === request.body)?.fault
  )
}

/** Faults that change the request, and not only its connection or its time. */
const ALTERING: readonly FaultName[] = [
  'wrong_key',
  'altered',
  'unsigned',
  'truncated',
  'wrong_content_type',
  'gzip',
]

const isAltered = ({ fault }: Attempt): boolean => fault !== undefined && ALTERING.includes(fault)
