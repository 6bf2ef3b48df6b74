import { type LambdaResult, webhook } from 'geohook/lambda'
import { type HostRequest, type HostResponse, listenHost } from './host.ts'
import { EVENTS, type LambdaFormat } from './lambda-events.ts'
import type { Mount } from './mounted.ts'

/**
 * Converts a function's result to the response that the host sends. A load balancer uses `multiValueHeaders` if it is
 * configured for them, otherwise `headers`, but never both.
 */
function toHostResponse(format: LambdaFormat, result: LambdaResult): HostResponse {
  const { statusCode, headers = {}, multiValueHeaders = {}, body, isBase64Encoded } = result
  const single = Object.entries(headers)
  const multi = Object.entries(multiValueHeaders).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const written = { ALB: single, 'ALB multi-value': multi, 'REST API': [...single, ...multi] }
  return {
    status: statusCode,
    headers: format in written ? written[format as keyof typeof written] : single,
    body: isBase64Encoded ? Buffer.from(body, 'base64') : body,
  }
}

/** Calls a function like AWS does: serializes the event and the result to JSON and back. */
export async function invoke(
  handler: (event: unknown) => Promise<LambdaResult>,
  format: LambdaFormat,
  request: HostRequest,
  change: (event: { body?: unknown }) => void = () => {},
): Promise<HostResponse> {
  const event = JSON.parse(JSON.stringify(EVENTS[format](request))) as { body?: unknown }
  change(event)
  const result = await handler(event)
  return toHostResponse(format, JSON.parse(JSON.stringify(result)) as LambdaResult)
}

export const mountLambda =
  (format: LambdaFormat): Mount =>
  (receiver, { bodyIsRead } = {}) => {
    const handler = webhook(receiver)
    // Simulates middleware that has replaced the body with the parsed object.
    const parse = (event: { body?: unknown }): void => {
      if (bodyIsRead) event.body = {}
    }
    return listenHost((request) => invoke(handler, format, request, parse), {
      keepsLast: format === 'ALB',
    })
  }
