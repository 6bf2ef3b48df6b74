import type { IncomingMessage, ServerResponse } from 'node:http'
import { configInvalid } from '../errors.ts'
import type { DurableInbox } from '../inbox/durable-inbox.ts'
import { warn } from '../receiver/log.ts'
import { readHeader } from '../receiver/request.ts'
import { guard, Session } from './access.ts'
import type { Call } from './action.ts'
import type { Context } from './html/page.ts'
import {
  fromNode,
  fromWeb,
  InspectorError,
  type InspectorRequest,
  type InspectorResponse,
  redirect,
  toNode,
  toWeb,
} from './http.ts'
import { createInboxSource, isInbox } from './inbox/source.ts'
import { Notices, readFilters } from './list.ts'
import { type InspectorOptions, type ResolvedOptions, readOptions } from './options.ts'
import { errorPage, logIn, loginPage } from './pages.ts'
import { findAsset, findRoute } from './routes.ts'
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
 * import { createRequestLog, createInspector } from 'geohook/inspector'
 *
 * const options = { signatureKey: 'parcels2026' }
 * const requestLog = createRequestLog(options)
 * const receiver = createReceiver({ ...options, observer: requestLog.observer }).on('FeaturesCreated', () => {})
 * const app = express()
 * app.post('/hooks/parcels', webhook(receiver))
 * app.use('/inspect', createInspector(requestLog))
 * ```
 */
export function createInspector(
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
    'createInspector(inspected): inspected must be a mock service, a request log or a durable inbox',
  )
}

/**
 * The inspector without a server: access, then login, then the page. The returned function resolves with undefined if
 * the inspector has no such page.
 */
function createApp(
  source: Source,
  options: ResolvedOptions,
): (request: InspectorRequest) => Promise<InspectorResponse | undefined> {
  const session = new Session(options.token)
  const notices = new Notices()

  function toCall(request: InspectorRequest): Call {
    const { query, base, headers } = request
    const filters = readFilters(query)
    const href: Context['href'] = (path, parameters = {}) => {
      const all = new URLSearchParams({ ...filters, ...parameters })
      return base + path + (all.size > 0 ? `?${all}` : '')
    }
    const context: Context = {
      source,
      request,
      filters,
      formSecret: session.formSecret,
      hasLogin: options.token !== undefined,
      notice: notices.take(query.get('notice')),
      href,
    }
    return {
      context,
      requireFormSecret(values) {
        // A browser does not send a bearer token on its own, but it does send the user name and password of HTTP Basic,
        // which the user's own login can use.
        const isBearer = /^Bearer /i.test(readHeader(headers, 'authorization') ?? '')
        if (!isBearer && !session.isFormSecret(values['form-secret']))
          throw new InspectorError(
            403,
            'The form is not from this inspector, or from before its restart. Reload the page.',
          )
        return values
      },
      done: (path, notice) => redirect(href(path, { notice: notices.add(notice) })),
    }
  }

  async function respond(request: InspectorRequest): Promise<InspectorResponse | undefined> {
    const { method, path } = request
    const segments = decodeSegments(path)
    if (!segments || (method !== 'GET' && method !== 'POST')) return undefined
    const asset = method === 'GET' ? findAsset(path) : undefined
    const isLogin = options.token !== undefined && path === '/login'
    const isLogout = options.token !== undefined && path === '/logout' && method === 'POST'
    const call = toCall(request)
    const route = findRoute(method, segments, call.context)
    if (!asset && !isLogin && !isLogout && !route) return undefined
    await guard(request, options)
    if (asset) return asset
    if (isLogin && method === 'POST') return logIn(request, session)
    if (isLogin) return loginPage({ ...request, path: '/' })
    if (!session.isLoggedIn(request)) return loginPage({ ...request, path: method === 'GET' ? path : '/' })
    if (!isLogout) return route?.(call)
    call.requireFormSecret(await request.readForm())
    return redirect(`${request.base}/login`, { 'set-cookie': session.cookie(request, false) })
  }

  return async (request) => {
    try {
      return await respond(request)
    } catch (error) {
      if (!(error instanceof InspectorError))
        warn(`the inspector failed: ${placeOf(error)}`, 'inspector_failed')
      return errorPage(request.base, error)
    }
  }
}

/** @returns undefined if a segment is empty or invalid */
function decodeSegments(path: string): string[] | undefined {
  if (path === '/') return []
  try {
    const segments = path.slice(1).split('/').map(decodeURIComponent)
    return segments.every((segment) => segment !== '') ? segments : undefined
  } catch {
    return undefined
  }
}

/** The kind of an unexpected error and where it was thrown, without its message, which can contain anything. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  // A message can have lines that look like those of the stack.
  const [, frames = ''] = String(error.stack).split(error.message || '\n')
  const frame = frames.split('\n').find((line) => /^\s+at /.test(line))
  return `${error.constructor.name} ${frame?.trim() ?? ''}`
}
