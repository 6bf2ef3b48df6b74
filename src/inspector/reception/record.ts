import { withCauses } from '#platform'
import type { WebhookError } from '../../errors.ts'
import type { ServiceName, WebhookEvent } from '../../payload/events.ts'
import { causesOf } from '../../receiver/observer.ts'
import { readHeader } from '../../receiver/request.ts'
import type { Delivery, Outcome, RequestHead } from '../../receiver/types.ts'
import type { Redactor } from '../../shared/redact.ts'
import type { HttpResponse } from '../send-request.ts'
import type { HeaderPairs } from '../source.ts'
import { type Recorded, type RecordedDelivery, toAnswer } from './recorded.ts'

/** The end of a request, as an observer sees it. */
export interface SeenRequest {
  request: RequestHead
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
  const { request, outcome, milliseconds, delivery, error } = seen
  return {
    ...common(outcome, seen.body ?? delivery?.rawBody, delivery, error, redactor),
    declaredSize: toLength(readHeader(request.headers, 'content-length')),
    time: new Date(now - milliseconds),
    decidedAt: now,
    request,
    milliseconds,
    sent: undefined,
  }
}

/** Keeps what the page will show of a request that a program has recorded itself. */
export function fromProgram(received: ReceivedRequest, redactor: Redactor): Facts {
  const { receivedAt, milliseconds, method, url, headers, body, outcome, delivery, remoteAddress } = received
  const { status, forwarded, disconnected = false } = received
  return {
    ...common(outcome, body, delivery, outcome.error, redactor),
    declaredSize: toLength(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1]),
    time: receivedAt,
    decidedAt: receivedAt.getTime(),
    request: { method, url, headers, remoteAddress },
    milliseconds,
    sent: {
      status,
      disconnected,
      forwarded:
        forwarded && 'response' in forwarded
          ? { status: forwarded.response.status, answer: toAnswer(forwarded.response, redactor) }
          : forwarded,
    },
  }
}

function toLength(text: string | undefined): number {
  const length = Number(text)
  return Number.isSafeInteger(length) && length >= 0 ? length : 0
}

function common(
  { kind, status, headers, body: text }: Outcome,
  body: Uint8Array | undefined,
  delivery: Delivery | undefined,
  error: WebhookError | undefined,
  redactor: Redactor,
): Pick<Facts, 'body' | 'size' | 'kind' | 'answer' | 'code' | 'error' | 'delivery'> {
  return {
    body,
    size: body?.length,
    kind,
    answer: { status, headers, body: text },
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

/** @returns for example `Parcels.FeatureServer`; undefined if the payload has no name */
function serviceText({ folderName, serviceName, serviceType }: ServiceName): string | undefined {
  const name = [textOf(folderName), textOf(serviceName)].filter(Boolean).join('/')
  return [name, textOf(serviceType)].filter(Boolean).join('.') || undefined
}

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
