import type { AttemptEntry, Item, SignatureFacts } from '../../inspector/source.ts'
import type { Redactor } from '../../shared/redact.ts'
import type { Attempt } from '../delivery/attempt.ts'
import { FAULTS } from '../faults/faults.ts'
import type { Mock } from '../service.ts'
import { type Attempts, lastOf, OUTCOMES, outcomeOf, toRow } from './deliveries.ts'
import { explainRefused } from './explain-refused.ts'
import { contentTypeOf, findSignature, redactAll, signatureNameOf } from './signed.ts'

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
  if (!answer || answer.status < 400 || !String(answer.headers['content-type']).includes('json'))
    return undefined
  try {
    const { code } = JSON.parse(answer.body) as { code?: unknown }
    return typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : undefined
  } catch {
    return undefined
  }
}
