import { WebhookError } from '../errors.ts'
import type { HeaderBag } from '../receiver/headers.ts'
import type { ReadOptions, ReceiverRequest, RequestHead } from '../receiver/request.ts'

type Bag = Record<string, unknown> | null

/**
 * The event members of all supported hosts. All are optional and unvalidated: anyone who can invoke the function can
 * pass any value.
 */
export interface LambdaEvent {
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
export function toReceiverRequest(event: LambdaEvent): ReceiverRequest {
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
