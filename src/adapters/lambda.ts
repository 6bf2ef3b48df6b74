import type { Receiver } from '../receiver/receiver-types.ts'
import { type LambdaEvent, toReceiverRequest } from './lambda-event.ts'
import { requireReceiver } from './to-receiver.ts'

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
 * @param receiver the result of `createReceiver`
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
export function webhook(receiver: Pick<Receiver, 'receive'>): (event: unknown) => Promise<LambdaResult> {
  const { receive } = requireReceiver(receiver)

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
