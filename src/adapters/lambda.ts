import { type LambdaEvent, toReceiverRequest } from './lambda-event.ts'
import { type Receiving, requireReceiver } from './to-receiver.ts'

/** The answer that API Gateway, function URLs and load balancers take. */
export interface LambdaResult {
  statusCode: number
  headers?: Record<string, string>
  /** Instead of `headers`, for a target group with multi-value headers. */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: boolean
}

/**
 * The receiver as a handler of AWS Lambda, behind API Gateway (REST and HTTP APIs), a function URL, or a load
 * balancer. It answers every invocation itself.
 *
 * A REST API must have every media type among its `binaryMediaTypes`: without it, bytes that are not UTF-8 are lost before they
 * get here.
 *
 * @param receiver what `createReceiver` made
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
export function webhook(receiver: Receiving): (event: unknown) => Promise<LambdaResult> {
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
