import { WebhookError } from '../errors.ts'
import type {
  HeaderBag,
  ReadOptions,
  Receiver,
  ReceiverOptions,
  ReceiverRequest,
  RequestHead,
} from '../receiver/types.ts'
import { toLastReceiver } from './to-receiver.ts'

/** The response for API Gateway, function URLs and load balancers. */
export interface LambdaResult {
  statusCode: number
  headers?: Record<string, string>
  /** Sent in place of `headers` if the load balancer's target group uses multi-value headers. */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: boolean
}

/**
 * Creates a handler for AWS Lambda behind API Gateway (REST and HTTP APIs), a function URL, or a load balancer. The
 * handler responds to every invocation itself.
 *
 * For a REST API, set `binaryMediaTypes` so that it covers every media type. Otherwise API Gateway replaces bytes that
 * are not valid UTF-8.
 *
 * @param receiver the result of `createReceiver`, or its options with an inbox
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/lambda'
 *
 * const receiver = createReceiver({ signatureKey: 'parcels2026' }).on('*', console.log)
 * export const handler = webhook(receiver)
 * ```
 */
export function webhook(receiver: Receiver | ReceiverOptions): (event: unknown) => Promise<LambdaResult> {
  const { receive } = toLastReceiver(receiver, webhook)

  return async function webhook(invocation) {
    const event = (invocation ?? {}) as LambdaEvent
    const { status, headers, body } = await receive(toReceiverRequest(event))
    const result = { statusCode: status, body, isBase64Encoded: false }
    const isMulti = event.multiValueHeaders && !event.headers
    if (!isMulti) return { ...result, headers }
    const lists = Object.entries(headers).map(([name, value]) => [name, [value]])
    return { ...result, multiValueHeaders: Object.fromEntries(lists) }
  }
}

type Bag = Record<string, unknown> | null

/**
 * The event members of all supported hosts. All are optional and unvalidated: anyone who can invoke the function can
 * pass any value.
 */
interface LambdaEvent {
  httpMethod?: unknown
  path?: unknown
  rawPath?: unknown
  rawQueryString?: unknown
  headers?: Bag
  multiValueHeaders?: Bag
  queryStringParameters?: Bag
  multiValueQueryStringParameters?: Bag
  pathParameters?: unknown
  requestContext?: {
    elb?: unknown
    http?: { method?: unknown; sourceIp?: unknown } | null
    identity?: { sourceIp?: unknown } | null
  } | null
  body?: unknown
  isBase64Encoded?: unknown
}

/** Converts an event to the receiver's request. `method` is empty if the event is not an HTTP request. */
function toReceiverRequest(event: LambdaEvent): ReceiverRequest {
  const { httpMethod, requestContext, pathParameters } = event
  return {
    method: text(httpMethod ?? requestContext?.http?.method),
    url: toUrl(event),
    headers: toHeaders(event),
    params:
      typeof pathParameters === 'object'
        ? ((pathParameters ?? undefined) as RequestHead['params'])
        : undefined,
    // A load balancer passes the address only in a header.
    remoteAddress: text(requestContext?.http?.sourceIp ?? requestContext?.identity?.sourceIp) || undefined,
    read: async (options) => readEvent(event, options),
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const texts = (value: unknown): string[] => [value].flat().filter((one) => typeof one === 'string')

/**
 * Rebuilds the path and the query. API Gateway decodes query parameters, except in `rawQueryString`; a load balancer
 * does not.
 */
function toUrl(event: LambdaEvent): string {
  const { rawPath, rawQueryString, path } = event
  const query = typeof rawQueryString === 'string' ? rawQueryString : toQuery(event)
  // Some hosts decode the path. A `?` decoded from `%3F` must not start a query.
  const pathname = text(rawPath ?? path).replace(/[?#]/g, encodeURIComponent)
  return query ? `${pathname}?${query}` : pathname
}

function toQuery(event: LambdaEvent): string {
  const bag = { ...event.queryStringParameters, ...event.multiValueQueryStringParameters }
  const pairs = Object.entries(bag).flatMap(([name, value]) => texts(value).map((one) => [name, one]))
  return event.requestContext?.elb
    ? pairs.map((pair) => pair.join('=')).join('&')
    : new URLSearchParams(pairs).toString()
}

/** Collects every value of every header, so that repeated headers are detected even if their names differ in case. */
function toHeaders({ headers, multiValueHeaders }: LambdaEvent): HeaderBag {
  const bag = new Map<string, string[]>()
  for (const [name, value] of Object.entries({ ...headers, ...multiValueHeaders })) {
    const key = name.toLowerCase()
    bag.set(key, [...(bag.get(key) ?? []), ...texts(value)])
  }
  return Object.fromEntries([...bag].map(([name, values]) => [name, values.length > 1 ? values : values[0]]))
}

function readEvent({ body, isBase64Encoded }: LambdaEvent, { onChunk }: ReadOptions): Uint8Array {
  if (body === undefined || body === null) return new Uint8Array()
  if (typeof body !== 'string') {
    throw new WebhookError('body_already_parsed', {
      message: 'the body of this event is not a string, so it is not the body that was sent',
      hint: 'Use a proxy integration without a mapping template, and pass the event on unchanged.',
    })
  }
  const encoding = isBase64Encoded === true ? 'base64' : 'utf8'
  const bytes = Buffer.from(body, encoding)
  if (encoding === 'base64' && bytes.toString('base64') !== body) {
    throw new WebhookError('body_aborted', { message: 'the body of this event is not complete base64' })
  }
  onChunk(bytes)
  return bytes
}
