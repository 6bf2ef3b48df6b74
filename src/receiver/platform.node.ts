import type { IncomingMessage, ServerResponse } from 'node:http'
import timers from 'node:timers'
import { drain } from './drain.node.ts'

// Taken at import, because fake timers of a test would never fire it.
const { setImmediate } = timers

let tick: Promise<void> | undefined

/**
 * Resolves at the end of this event loop tick. By then Node has parsed everything that arrived in it, so that bodies have
 * ended, and the responses of all requests of the tick are written together (docs/architecture.md, "Speed").
 */
export function endOfTick(): Promise<void> {
  tick ??= new Promise((resolve) => {
    setImmediate(() => {
      tick = undefined
      resolve()
    })
  })
  return tick
}

/**
 * Drains the Node request behind a web request.
 *
 * @param request srvx, the server of h3, has Node's request in `runtime.node`
 * @param context `@hono/node-server` passes Node's request as `incoming`
 * @param limit maximum number of bytes to discard
 * @returns false if there is no Node request
 */
export function drainWebRequest(request: object, context: unknown, limit: number): boolean {
  const { node } = (request as { runtime?: { node?: Partial<NodeExchange> } }).runtime ?? {}
  const { incoming, outgoing } = (context ?? {}) as { incoming?: IncomingMessage; outgoing?: ServerResponse }
  const { req = incoming, res = outgoing } = node ?? {}
  // Contexts of other frameworks can have unrelated members with these names.
  if (!res || typeof req?.resume !== 'function') return false
  drain(req, res, limit)
  return true
}

interface NodeExchange {
  req: IncomingMessage
  res: ServerResponse
}
