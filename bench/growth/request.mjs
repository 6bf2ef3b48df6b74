import { createReceiver } from '../../dist/index.js'
import { KEY, signature } from '../lib/payloads.mjs'

/** Builds a request as an adapter does, to measure the receiver without sockets. The body is one chunk. */
export function toRequest(body, isForged = false) {
  return {
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'application/json', 'x-service': isForged ? '0'.repeat(64) : signature(body) },
    async read({ onChunk }) {
      onChunk(body)
      return body
    },
  }
}

/**
 * Creates a receiver with the given keys and handlers, and a request for it.
 *
 * @param {{ body: Buffer, keys?: readonly string[], events: number, handlers: [changeType: string, count: number][], isForged?: boolean }} options
 *   `events`: expected number of handler calls for the body
 */
export async function createSubject({ body, keys = [KEY], events, handlers, isForged = false }) {
  let calls = 0
  let refused = 0
  const observer = {
    refused() {
      refused += 1
    },
  }
  const receiver = createReceiver({ signatureKey: keys, limit: '16mb', observer })
  for (const [changeType, count] of handlers)
    for (let index = 0; index < count; index++)
      receiver.on(changeType, () => {
        calls += 1
      })
  const request = toRequest(body, isForged)
  /** Returns the mean milliseconds of `count` consecutive requests. */
  async function time(count) {
    calls = 0
    refused = 0
    const started = performance.now()
    for (let index = 0; index < count; index++) await receiver.receive(request)
    const milliseconds = (performance.now() - started) / count
    if (calls !== count * events) throw new Error(`${calls} events were handled, not ${count * events}`)
    if (refused !== (isForged ? count : 0)) throw new Error(`${refused} of ${count} were refused`)
    return milliseconds
  }
  return { time }
}
