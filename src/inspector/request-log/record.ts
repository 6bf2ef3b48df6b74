import { withCauses } from '#runtime'
import type { ErrorCode, WebhookError } from '../../errors.ts'
import type { Diagnosis } from '../../explain/types.ts'
import type { WebhookEvent } from '../../payload/events.ts'
import { causesOf } from '../../receiver/log.ts'
import type { Delivery, HeaderBag, Outcome, RequestHead } from '../../receiver/types.ts'
import { type HeaderPairs, toPairs } from '../../shared/headers.ts'
import type { HttpResponse } from '../../shared/http.node.ts'
import type { Redactor } from '../../shared/redact.ts'
import { serviceText } from '../request.ts'
import type { AttemptEntry } from '../source.ts'

/** The end of a request, as an observer sees it. */
export interface SeenRequest<Head = RequestHead> {
  request: Head
  outcome: Outcome
  milliseconds: number
  delivery?: Delivery | undefined
  error?: WebhookError | undefined
  body?: Uint8Array | undefined
}

/** A request that a program has recorded itself, with what it knows about the response. */
export interface ReceivedRequest {
  /** When the request arrived. */
  receivedAt: Date
  /** Milliseconds until the response was sent. */
  milliseconds: number
  method: string
  /** Path and query. */
  url: string
  /** Names and values as they were sent. */
  headers: HeaderPairs
  /** Undefined if the body could not be read. */
  body?: Uint8Array | undefined
  outcome: Outcome
  /** Undefined if the receiver did not accept the request as a delivery. */
  delivery?: Delivery | undefined
  remoteAddress?: string | undefined
  /** The status that the sender received. */
  status: number
  /** The response to the forwarded request, or the error that prevented one. */
  forwarded?: { response: HttpResponse } | { error: string } | undefined
  /** True if the sender closed the connection before the response. */
  disconnected?: boolean | undefined
}

type Facts = Omit<Recorded, 'id' | 'bytes'>

/**
 * Keeps what the page will show. Runs before the receiver responds, so it copies neither body nor headers, and decodes
 * nothing.
 */
export function fromObserver(seen: SeenRequest, now: number, redactor: Redactor): Facts {
  const body = seen.body ?? seen.delivery?.rawBody
  return toFacts({ ...seen, body }, { time: new Date(now - seen.milliseconds), decidedAt: now }, redactor)
}

/** Keeps what the page will show of a request that a program has recorded itself. */
export function fromProgram(received: ReceivedRequest, redactor: Redactor): Facts {
  const { receivedAt, milliseconds, method, url, headers, body, outcome, delivery, remoteAddress } = received
  const { status, forwarded, disconnected = false } = received
  const sent: Sent = {
    status,
    disconnected,
    forwarded:
      forwarded && 'response' in forwarded
        ? { status: forwarded.response.status, answer: toAnswer(forwarded.response, redactor) }
        : forwarded,
  }
  const request = { method, url, headers, remoteAddress }
  const times = { time: receivedAt, decidedAt: receivedAt.getTime() }
  return {
    ...toFacts({ request, outcome, milliseconds, delivery, error: outcome.error, body }, times, redactor),
    sent,
  }
}

function toFacts(
  { request, outcome, milliseconds, delivery, error, body }: SeenRequest<Recorded['request']>,
  times: Pick<Facts, 'time' | 'decidedAt'>,
  redactor: Redactor,
): Facts {
  const { kind, status, headers, body: text } = outcome
  return {
    ...times,
    request,
    body,
    size: body?.length,
    kind,
    answer: { status, headers, body: text },
    milliseconds,
    code: error?.code,
    error: error && causeText(error, redactor),
    delivery: delivery && toRecordedDelivery(delivery),
  }
}

const MAX_CHANGE_TYPES = 20

/** Handlers can change a delivery, so nothing but its id is taken for granted. */
function toRecordedDelivery({
  id,
  keyIndex,
  profile,
  tenant,
  changeTypes,
  events,
}: Partial<Delivery>): RecordedDelivery {
  const event: Partial<WebhookEvent> | undefined = events?.[0]
  return {
    id: textOf(id) ?? '',
    keyIndex,
    profile: textOf(profile) ?? '',
    tenant: textOf(tenant),
    changeTypes: (changeTypes ?? []).slice(0, MAX_CHANGE_TYPES).map((name) => textOf(name) ?? '?'),
    service: event?.service && serviceText(event.service),
    webhook: textOf(event?.webhook?.name) ?? textOf(event?.webhook?.id),
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const MAX_ERROR = 2000

/** Formats what was thrown, without keys: a cut key could not be found later. Errors themselves are not kept, because they can refer to much memory. */
function causeText(error: WebhookError, { text }: Redactor): string | undefined {
  // The causes of `payload_invalid` are plain objects, which `explain` describes.
  if (!Object.hasOwn(error, 'cause') || error.code === 'payload_invalid') return undefined
  try {
    return text(
      causesOf(error)
        .slice(0, 10)
        .map((cause) => withCauses(cause))
        .join('\n'),
      MAX_ERROR,
    )
  } catch {
    return 'a value that cannot be printed was thrown' // String() throws for some values
  }
}

/** A recorded request. Its headers are not redacted, so pages must use the result of `toItem`. */
export interface Recorded {
  readonly id: string
  /** When the request arrived. */
  readonly time: Date
  /** Time at which the receiver decided, in milliseconds since 1970. */
  readonly decidedAt: number
  readonly request: Omit<RequestHead, 'headers'> & { headers: HeaderBag | HeaderPairs }
  /** Undefined if the body was not read, or was too large to be recorded. */
  readonly body: Uint8Array | undefined
  /** Bytes of the recorded body, the URL and the headers. */
  readonly bytes: number
  /** Size of the body in bytes, also if it is not recorded. Undefined if it was not read. */
  readonly size: number | undefined
  readonly kind: Outcome['kind']
  /** The response of the receiver. */
  readonly answer: Pick<Outcome, 'status' | 'headers' | 'body'>
  readonly milliseconds: number
  readonly code: ErrorCode | undefined
  /** What the handler, the inbox or the key function threw, without keys. */
  readonly error: string | undefined
  /** Undefined if the request was refused, or is a handshake. */
  readonly delivery: RecordedDelivery | undefined
  /** What the sender got instead of the receiver's response. */
  readonly sent?: Sent | undefined
  /** Set when a page has asked for it. */
  diagnosis?: Promise<Diagnosis | undefined>
}

/** The part of a delivery that the page shows. The payload itself would take more memory than the body. */
interface RecordedDelivery {
  id: string
  keyIndex: number | undefined
  profile: string
  tenant: string | undefined
  changeTypes: readonly string[]
  service: string | undefined
  webhook: string | undefined
}

/** What `geohook listen` knows about the response. */
interface Sent {
  status: number
  forwarded: { status: number; answer: AttemptEntry['answer'] } | { error: string } | undefined
  disconnected: boolean
}

/** Characters of a response. */
const MAX_ANSWER = 16 * 1024
/** Bytes that certainly contain these characters, and a key that begins among them. */
const MAX_DECODED = 4 * MAX_ANSWER

/** The response of a target without keys, with only the first part of its body. */
const toAnswer = (
  { headers, body }: HttpResponse,
  { text, headers: hideIn }: Redactor,
): AttemptEntry['answer'] => ({
  headers: hideIn(headers),
  body: text(body.subarray(0, MAX_DECODED).toString(), MAX_ANSWER),
})

/** A larger body is not recorded, in bytes. */
const MAX_BODY = 8 * 1024 * 1024

type Listener = (ids?: readonly string[]) => void

/** The recorded requests, within bounds. */
export class RequestStore {
  readonly #limits: Readonly<Record<'maxRequests' | 'maxBytes', number>>
  // Part of each id, so that an address from before a restart does not show another request.
  readonly #run = crypto.randomUUID().slice(0, 6)
  /** In order of arrival. */
  readonly #requests = new Map<string, Recorded>()
  readonly #listeners = new Set<Listener>()
  #count = 0
  #bytes = 0

  constructor(limits: Readonly<Record<'maxRequests' | 'maxBytes', number>>) {
    this.#limits = limits
  }

  get size(): number {
    return this.#requests.size
  }

  /** Adds a request, and drops the oldest ones if there are too many. */
  add(facts: Omit<Recorded, 'id' | 'bytes'>): void {
    const { maxRequests, maxBytes } = this.#limits
    const id = `${++this.#count}-${this.#run}`
    const body = (facts.size ?? 0) > Math.min(MAX_BODY, maxBytes) ? undefined : facts.body
    const recorded = { ...facts, id, body, bytes: (body?.length ?? 0) + sizeOfHead(facts) }
    this.#requests.set(id, recorded)
    this.#bytes += recorded.bytes
    const changed = [id]
    for (const { id: oldest, bytes } of this.#requests.values()) {
      if (this.size === 1 || (this.size <= maxRequests && this.#bytes <= maxBytes)) break
      this.#requests.delete(oldest)
      this.#bytes -= bytes
      changed.push(oldest)
    }
    this.#notify(changed)
  }

  get(id: string): Recorded | undefined {
    return this.#requests.get(id)
  }

  newestFirst(): Recorded[] {
    return [...this.#requests.values()].reverse()
  }

  clear(): void {
    const ids = [...this.#requests.keys()]
    this.#requests.clear()
    this.#bytes = 0
    this.#notify(ids)
  }

  #notify(ids: readonly string[]): void {
    for (const listener of this.#listeners) listener(ids)
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** Characters of the URL and the headers. */
const sizeOfHead = ({ request: { url, headers } }: Pick<Recorded, 'request'>): number =>
  toPairs(headers).reduce((size, [name, value]) => size + name.length + value.length, url.length)
