import type { InboxEntry, InboxItem, InboxState } from '../../inbox/durable-inbox.ts'
import { parsePayload } from '../../payload/parse.ts'
import { createRedactor } from '../../shared/redact.ts'
import { toDuration } from '../html/units.ts'
import type { AttemptEntry, Item, Row, RowOutcome } from '../source.ts'
import { signatureOf } from './signature.ts'

const TONES: Readonly<Record<InboxState, RowOutcome['tone']>> = {
  waiting: 'pending',
  active: 'neutral',
  done: 'good',
  dead: 'bad',
}

const MAX_NOTE = 200

/** Knows no keys, because an inbox stores none. Hides only credentials in headers and parameters. */
const redactor = createRedactor([])

export function toRow({ id, receivedAt, changeTypes, state, attempts, size, error }: InboxEntry): Row {
  return {
    id,
    time: receivedAt,
    changeTypes,
    outcome: { tone: TONES[state], word: state },
    attempts,
    size,
    note: state === 'done' || error === undefined ? undefined : toHeadline(error),
  }
}

/** The first line of an error. */
export const toHeadline = (error: string): string =>
  redactor.text(error.trim().split('\n', 1)[0] ?? '', MAX_NOTE)

export function toItem(stored: InboxItem): Item {
  const entry = stored.error === undefined ? stored : { ...stored, error: redactor.text(stored.error) }
  const { delivery, size, state, error } = entry
  const { rawBody, contentType } = delivery
  const headers = redactor.headers(delivery.headers)
  const signature = signatureOf(delivery, headers)
  return {
    ...toRow(entry),
    ...serviceOf(entry, signature.name),
    request: {
      method: 'POST',
      url: '', // an inbox stores no URL
      headers,
      // On a full disk, an inbox in SQLite deletes the bodies of done deliveries.
      body: rawBody.length === 0 && size > 0 ? undefined : rawBody,
      contentType,
    },
    attemptLog: lastAttempt(entry),
    facts: factsOf(entry),
    signature,
    error: state === 'done' ? undefined : error,
  }
}

function serviceOf({ delivery }: InboxItem, signatureHeader: string): Pick<Row, 'service' | 'webhook'> {
  const { rawBody: body, contentType } = delivery
  const parsed = parsePayload({ body, contentType, profile: { signatureHeader } })
  const [event] = parsed.ok ? parsed.events : []
  if (!event) return {}
  const { folderName, serviceName, serviceType } = event.service
  const name = [folderName, serviceName].filter(Boolean).join('/')
  return {
    service: [name, serviceType].filter(Boolean).join('.') || undefined,
    webhook: event.webhook.name ?? event.webhook.id,
  }
}

const factsOf = ({
  state,
  attempts,
  dueAt,
  endedAt,
  error,
  delivery,
}: InboxItem): [name: string, value: string][] => {
  const facts: [string, string | undefined][] = [
    ['State', state],
    ['Next attempt', dueAt && describeDue(dueAt)],
    ['Ended', endedAt && `${toText(endedAt)}, ${toDuration(Date.now() - +endedAt)} ago`],
    ['Last error', state === 'done' ? error : undefined],
    ['Earlier attempts', attempts > 1 ? 'An inbox stores only the last error.' : undefined],
    ['Profile', delivery.profile],
    ['Tenant', delivery.tenant],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

function describeDue(dueAt: Date): string {
  const left = +dueAt - Date.now()
  return `${toText(dueAt)}, ${left > 0 ? `in ${toDuration(left)}` : 'due now'}`
}

const toText = (time: Date): string => (Number.isNaN(+time) ? 'unknown time' : time.toISOString())

/** The last attempt; an inbox keeps no log of the earlier ones, and no times of attempts. */
function lastAttempt({ state, attempts, endedAt, error }: InboxEntry): AttemptEntry[] {
  if (attempts === 0) return []
  const failed = { tone: 'bad', result: 'failed', note: error } as const
  const results: Record<InboxState, Pick<AttemptEntry, 'tone' | 'result' | 'note'>> = {
    waiting: failed,
    active: { tone: 'pending', result: 'in progress' },
    done: { tone: 'good', result: 'handled' },
    dead: failed,
  }
  return [{ number: attempts, time: endedAt ?? new Date(Number.NaN), ...results[state] }]
}
