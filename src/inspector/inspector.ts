import type { IncomingMessage, ServerResponse } from 'node:http'
import { configInvalid } from '../errors.ts'
import type { DurableInbox } from '../inbox/durable-inbox.ts'
import { createApp } from './app.ts'
import { InspectorError } from './http/message.ts'
import { fromNode, toNode } from './http/node.ts'
import { fromWeb, toWeb } from './http/web.ts'
import { createInboxSource, isInbox } from './inbox/source.ts'
import { type InspectorOptions, readOptions } from './options.ts'
import { errorPage } from './pages/login.ts'
import { type Inspectable, SOURCE, type Source } from './source.ts'

/** A request handler for Node's server and Express, with a method for web requests. */
export interface InspectorHandler {
  /**
   * Handles a request of Node's server, Express or Connect.
   *
   * @param next called for paths that the inspector does not have. Without it, the response is 404
   */
  (req: IncomingMessage, res: ServerResponse, next?: () => void): Promise<void>
  /**
   * Handles a web `Request`.
   *
   * @param server what the platform passes with the request, to find the address of the peer: the info of `Deno.serve`,
   *   the server of `Bun.serve`, or the environment of `@hono/node-server`. Without it, a token or `authorize` is required
   */
  fetch(request: Request, server?: unknown): Promise<Response>
}

/**
 * Creates the inspector: a page that shows the deliveries of a mock service, of a receiver, or of a durable inbox, and
 * can send, retry or discard them. Without the options `token` and `authorize`, it answers only requests from this
 * machine.
 *
 * @throws {WebhookError} `config_invalid` for an invalid option, or something that cannot be inspected
 * @example
 * ```ts
 * import express from 'express'
 * import { createReceiver } from 'geohook'
 * import { webhook } from 'geohook/express'
 * import { createReception, inspector } from 'geohook/inspector'
 *
 * const options = { signatureKey: 'parcels2026' }
 * const reception = createReception(options)
 * const receiver = createReceiver({ ...options, observer: reception.observer }).on('FeaturesCreated', () => {})
 * const app = express()
 * app.post('/hooks/parcels', webhook(receiver))
 * app.use('/inspect', inspector(reception))
 * ```
 */
export function inspector(
  inspected: Inspectable | DurableInbox,
  options?: InspectorOptions,
): InspectorHandler {
  const resolved = readOptions(options)
  const app = createApp(toSource(inspected), resolved)
  const notFound = (base: string) => errorPage(base, new InspectorError(404, 'This page does not exist.'))

  async function handle(req: IncomingMessage, res: ServerResponse, next?: () => void): Promise<void> {
    const request = fromNode(req, resolved.base)
    const response = request && (await app(request))
    if (!response && next) return next()
    await toNode(res, response ?? notFound(request?.base ?? ''), req.method === 'HEAD')
  }
  return Object.assign(handle, {
    async fetch(given: Request, server?: unknown): Promise<Response> {
      const request = fromWeb(given, server, resolved.base)
      const response = request && (await app(request))
      return toWeb(response ?? notFound(resolved.base ?? ''), given.method === 'HEAD')
    },
  })
}

/** @throws {WebhookError} `config_invalid` */
function toSource(inspected: Inspectable | DurableInbox): Source {
  const create = (inspected as Partial<Inspectable> | null | undefined)?.[SOURCE]
  if (typeof create === 'function') return create.call(inspected)
  if (isInbox(inspected)) return createInboxSource(inspected)
  throw configInvalid(
    'inspector(inspected): inspected must be a mock service, a reception or a durable inbox',
  )
}
