import type { DurableInbox, InboxEntry, InboxItem, InboxState } from '../../inbox/durable-inbox.ts'
import { parsePayload } from '../../payload/parse.ts'
import type { StoredDelivery } from '../../receiver/types.ts'
import { whyUnreachable } from '../../shared/connection-errors.ts'
import { errorChain } from '../../shared/error-chain.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { createRedactor, type Redactor } from '../../shared/redact.ts'
import { toDuration } from '../../shared/words.ts'
import { arcgis, portal, service } from '../../signature/profiles.ts'
import { InspectorError } from '../http.ts'
import { keyText, serviceText } from '../request.ts'
import type { Action, AttemptEntry, Done, Item, ItemFate, Row, SignatureFacts } from '../source.ts'

export const METHODS = ['list', 'get', 'stats', 'retry', 'discard', 'purge'] as const
/** Methods that inboxes of older builds and of the user's own may lack. */
export const OPTIONAL = ['pause', 'resume', 'rerun', 'errors'] as const
/** What the page uses of an inbox. */
export type Store = Pick<DurableInbox, (typeof METHODS)[number]> &
  Partial<Pick<DurableInbox, (typeof OPTIONAL)[number]>>

const TONES: Readonly<Record<InboxState, AttemptEntry['tone']>> = {
  waiting: 'pending',
  active: 'neutral',
  done: 'good',
  dead: 'bad',
  unhandled: 'bad',
}

const MAX_NOTE = 200

/** Knows no keys, because an inbox stores none. Hides only credentials in headers and parameters. */
export const redactor: Redactor = createRedactor([])

/** The fates of a delivery. Inboxes of older builds and of the user's own do not list them. */
export const fatesOf = (item: InboxItem): readonly InboxEntry[] => item.fates ?? [item]

/** Adds the name of the handlers, if they have one. */
const withHandler = (handler: string | undefined, text?: string): string =>
  [handler, text].filter((part) => part !== undefined).join(': ')

export function toRow(entry: InboxEntry): Row {
  const { id, handler, receivedAt, changeTypes, state, attempts, size, error } = entry
  const note = state === 'done' || error === undefined ? undefined : toHeadline(error)
  return {
    id,
    key: handler && `${id} ${handler}`,
    time: receivedAt,
    changeTypes,
    outcome: { tone: TONES[state], word: state },
    attempts,
    size,
    note: withHandler(handler, note) || undefined,
  }
}

/** The first line of an error. */
export const toHeadline = (error: string): string =>
  redactor.text(error.trim().split('\n', 1)[0] ?? '', MAX_NOTE)

export function toItem(stored: InboxItem): Item {
  const entry = stored.error === undefined ? stored : { ...stored, error: redactor.text(stored.error) }
  const { delivery, size, state, error, handler } = entry
  const fates = fatesOf(stored)
  const hasNames = fates.some((fate) => fate.handler !== undefined)
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
    attemptLog: fates.flatMap((fate) => attemptsOf(fate, hasNames)),
    fates: hasNames ? fates.map(toFate) : undefined,
    facts: [
      ['State', hasNames ? undefined : state],
      ...(hasNames ? [] : fateFacts(entry)),
      ['Profile', delivery.profile],
      ['Tenant', delivery.tenant],
    ],
    signature,
    error: state === 'done' || error === undefined ? undefined : withHandler(handler, error),
  }
}

const UNNAMED = 'handlers without a name'

function toFate({ error, ...fate }: InboxEntry): ItemFate {
  const { handler = UNNAMED, state, attempts } = fate
  const facts: Item['facts'] = [
    ['Attempts', String(attempts)],
    ...fateFacts(fate),
    ['Last error', error && toHeadline(error)],
  ]
  const details = facts.flatMap(([name, value]) => (value ? `${name}: ${value}` : []))
  return { handler, outcome: { tone: TONES[state], word: state }, details: details.join('; ') }
}

function serviceOf({ delivery }: InboxItem, signatureHeader: string): Pick<Row, 'service' | 'webhook'> {
  const { rawBody: body, contentType } = delivery
  const parsed = parsePayload({ body, contentType, profile: { signatureHeader } })
  const [event] = parsed.ok ? parsed.events : []
  return event ? { service: serviceText(event.service), webhook: event.webhook.name ?? event.webhook.id } : {}
}

const fateFacts = ({
  state,
  attempts,
  dueAt,
  endedAt,
  leaseEndsAt,
  error,
  worker,
  held,
  passed,
}: InboxEntry): Item['facts'] => [
  ['Next attempt', held ? 'held behind an earlier delivery of its service' : dueAt && describeDue(dueAt)],
  ['Order', passed && 'passed by later deliveries of its service'],
  ['Ended', endedAt && `${toText(endedAt)}, ${toDuration(Date.now() - +endedAt)} ago`],
  ['Last error', state === 'done' ? error : undefined],
  ['Earlier attempts', attempts > 10 ? 'An inbox stores the last ten errors.' : undefined],
  ['Worker', worker],
  ['Lease ends', leaseEndsAt && toText(leaseEndsAt)],
]

function describeDue(dueAt: Date): string {
  const left = +dueAt - Date.now()
  return `${toText(dueAt)}, ${left > 0 ? `in ${toDuration(left)}` : 'due now'}`
}

const toText = (time: Date): string => (Number.isNaN(+time) ? 'unknown time' : time.toISOString())

/** The failed attempts that the inbox has stored, and the last one. */
function attemptsOf(fate: InboxEntry, hasNames: boolean): AttemptEntry[] {
  const { state, attempts, startedAt, endedAt, errors = [] } = fate
  const name = hasNames ? (fate.handler ?? UNNAMED) : undefined
  const unknown = new Date(Number.NaN)
  const log = errors.map(
    ({ error, attempt = attempts, at = unknown }): AttemptEntry => ({
      ...{ number: attempt, time: at, tone: 'bad', result: withHandler(name, 'failed') },
      note: redactor.text(error),
    }),
  )
  const [tone, result] = LAST[state] ?? []
  if (attempts === 0 || !tone || !result) return log
  const time = endedAt ?? startedAt ?? unknown
  return [...log, { number: attempts, time, tone, result: withHandler(name, result) }]
}

/** How the last attempt went, if it has not failed. */
const LAST: Partial<Record<InboxState, readonly [AttemptEntry['tone'], string]>> = {
  active: ['pending', 'in progress'],
  done: ['good', 'handled'],
  unhandled: ['bad', 'unhandled'],
}

/** Matches the value of a signature, with an optional prefix such as `sha256=`. */
const SIGNATURE = /^(?:[\w-]+=)?(?:([\da-f]{64})|[\w+/-]{43}=?)$/i

/** What an inbox knows about a verified signature. It does not store the name of the header, so that is looked for. */
function signatureOf({ keyIndex, profile }: StoredDelivery, headers: HeaderPairs): SignatureFacts {
  const state = keyIndex === undefined ? 'unsigned' : 'verified'
  const key = keyIndex === undefined ? undefined : keyText(keyIndex, 0)
  if (profile === portal.name)
    return { state, key, name: portal.secretHeader, expectedEncoding: 'none: the key itself', isSecret: true }
  const usual = [service, arcgis].map(({ signatureHeader }) => signatureHeader)
  const [name, value] =
    headers.find(([header]) => usual.some((known) => known.toLowerCase() === header.toLowerCase())) ??
    headers.find(([, text]) => SIGNATURE.test(text)) ??
    []
  const [found, hex] = SIGNATURE.exec(value ?? '') ?? []
  return {
    state,
    name: name ?? service.signatureHeader,
    expectedEncoding: 'hex or base64',
    encoding: found === undefined ? undefined : hex === undefined ? 'base64' : 'hex',
    key,
  }
}

/** Actions on one delivery. Another process can change its state at any time, so the result says if it was too late. */
export function createActions(inbox: Store): Action<Item>[] {
  const isChangeable = ({ outcome: { word } }: Item | ItemFate): boolean =>
    word === 'waiting' || word === 'dead' || word === 'unhandled'

  /** The handlers whose fates an action changes; empty if the delivery has a single fate. */
  const describeHandlers = ({ fates = [] }: Item): string => {
    const names = fates.flatMap((fate) => (isChangeable(fate) ? fate.handler : []))
    return fates.length > 1 ? ` for ${names.join(', ')}` : ''
  }

  async function apply(
    { id }: Item,
    change: (id: string) => Promise<boolean>,
    [done, failed]: [done: string, failed: string],
  ): Promise<Done> {
    if (await change(id)) return { message: done }
    const state = (await inbox.get(id))?.state
    return { message: `${failed}: ${describeState(state)}.`, ok: false }
  }

  return [
    {
      name: 'retry',
      label: 'Retry',
      isAvailable: isChangeable,
      run: (item) =>
        apply(item, (id) => inbox.retry(id), [
          item.outcome.word === 'dead'
            ? `The delivery waits again${describeHandlers(item)}, with its full number of attempts.`
            : `The delivery is due now${describeHandlers(item)}.`,
          'The delivery was not retried',
        ]),
    },
    {
      name: 'rerun',
      label: 'Rerun',
      isAvailable: ({ outcome: { word } }) => inbox.rerun !== undefined && word === 'done',
      question: () => 'Run the handlers of this delivery again, although they have succeeded?',
      run: (item) =>
        apply(item, async (id) => (await inbox.rerun?.(id)) === true, [
          'The delivery waits again, with its full number of attempts.',
          'The delivery was not rerun',
        ]),
    },
    {
      name: 'discard',
      label: 'Discard',
      isAvailable: isChangeable,
      question(item) {
        const { word } = item.outcome
        const noun = word === 'dead' ? 'dead letter' : `${word} delivery`
        const question = `Discard this ${noun}${describeHandlers(item)}? It cannot be restored`
        // The inbox keeps a delivery as long as it has a fate.
        if (item.fates?.some((fate) => !isChangeable(fate))) return `${question}.`
        return `${question}, and the inbox no longer recognizes it as a duplicate.`
      },
      run: (item) =>
        apply(item, (id) => inbox.discard(id), [
          `The delivery ${item.id} is discarded${describeHandlers(item)}.`,
          'The delivery was not discarded',
        ]),
    },
  ]
}

function describeState(state: string | undefined): string {
  if (state === undefined) return 'it is no longer in the inbox'
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}

/** Matches error codes, such as `SQLITE_BUSY` or `57014`. They contain no secret. */
const CODE = /^[A-Za-z0-9_]{3,40}$/

/**
 * Converts an error of a store to one that the page shows. Messages of stores can quote the address with its password,
 * so only known reasons and error codes are shown.
 */
export function toStoreError(thrown: unknown): InspectorError {
  const why = whyUnreachable(thrown)
  if (why !== undefined)
    return new InspectorError(
      503,
      `The store of the inbox is unreachable: ${why}. Reload the page when the store is back.`,
    )
  const code = [...errorChain(thrown)].map((error) => error.code).find((text) => CODE.test(String(text)))
  return new InspectorError(503, `The store of the inbox reported an error${code ? ` (${code})` : ''}.`)
}
