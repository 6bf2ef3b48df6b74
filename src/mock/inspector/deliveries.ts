import type { Row, RowOutcome } from '../../inspector/source.ts'
import { bodyFormat, parsePayload } from '../../payload/parse.ts'
import { toBinary } from '../../shared/bytes.ts'
import { createRedactor, type Redactor } from '../../shared/redact.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../../signature/profiles.ts'
import { verify } from '../../signature/signature.ts'
import { type AttemptRecord, hasSucceeded } from '../delivery/attempt.ts'
import type { Mock } from '../service.ts'
import type { Attempt } from '../state/records.ts'
import { servicePath } from '../state/services.ts'

/** The attempts of one delivery in the log, oldest first. */
export type Attempts = readonly [Attempt, ...Attempt[]]

/** Groups the attempts in the log by delivery. Returns the delivery that began last first. */
export function listDeliveries({ engine }: Mock): Attempts[] {
  const deliveries = new Map<string, [Attempt, ...Attempt[]]>()
  for (const attempt of engine.log.list()) {
    const known = deliveries.get(attempt.deliveryId)
    if (known) known.push(attempt)
    else deliveries.set(attempt.deliveryId, [attempt])
  }
  return [...deliveries.values()].reverse()
}

export const findDelivery = (mock: Mock, deliveryId: string): Attempts | undefined =>
  listDeliveries(mock).find(([first]) => first.deliveryId === deliveryId)

export const lastOf = (attempts: Attempts): Attempt => attempts.at(-1) as Attempt

export const OUTCOMES = {
  delivered: 'delivered',
  refused: 'refused',
  none: 'no response',
  pending: 'in flight',
}

export function outcomeOf(attempt: Attempt): RowOutcome {
  const { answer, milliseconds } = attempt
  if (milliseconds === undefined) return { tone: 'pending', word: OUTCOMES.pending }
  if (!answer) return { tone: 'bad', word: OUTCOMES.none }
  const { status } = answer
  if (hasSucceeded(attempt)) return { tone: 'good', word: OUTCOMES.delivered, status }
  return { tone: 'bad', word: OUTCOMES.refused, status }
}

export function toRow(mock: Mock, attempts: Attempts, redactor: Redactor): Row {
  const [first] = attempts
  const last = lastOf(attempts)
  const record = mock.engine.log.records.get(first.id)
  return {
    id: first.deliveryId,
    time: new Date(first.sentAt),
    changeTypes: record ? changeTypesOf(record) : [],
    service: record && servicePath(record.webhook),
    webhook: record?.webhook.name,
    target: redactor.text(last.hookUrl),
    outcome: outcomeOf(last),
    attempts: attempts.reduce((highest, { number }) => Math.max(highest, number), 1),
    size: last.request.body.length,
    milliseconds: last.milliseconds,
  }
}

/** Change types by payload, because parsing one for every update of the page would be slow. */
const parsed = new WeakMap<Uint8Array, readonly string[]>()

/** Reads the payload from before a fault, so that an altered delivery still shows its change types. */
function changeTypesOf({ payload, contentType }: AttemptRecord): readonly string[] {
  const known = parsed.get(payload)
  if (known) return known
  const result = parsePayload({ body: payload, contentType })
  const changeTypes = result.ok ? result.changeTypes : []
  parsed.set(payload, changeTypes)
  return changeTypes
}

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
    ...[...mock.engine.log.records.values()].map(({ webhook }) => webhook.signatureKey),
  ])
  const known = last.get(mock)
  if (known && isSame(known.keys, keys)) return known.redactor
  const redactor = createRedactor([...keys], { signatureHeader: signatureNameOf(mock) })
  last.set(mock, { keys, redactor })
  return redactor
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((key) => b.has(key))
