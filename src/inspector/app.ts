import { warn } from '../receiver/observer.ts'
import { readHeader } from '../receiver/request.ts'
import { guard } from './access/guard.ts'
import { createSession } from './access/session.ts'
import { readFilters, toParameters } from './filters.ts'
import type { Context } from './html/context.ts'
import { InspectorError, type InspectorRequest, type InspectorResponse, redirect } from './http/message.ts'
import { createNotices } from './notices.ts'
import type { ResolvedOptions } from './options.ts'
import { errorPage, logIn, loginPage } from './pages/login.ts'
import { findAsset, findRoute } from './routes.ts'
import type { Call } from './run-action.ts'
import type { Source } from './source.ts'

/** Responds to a request. Resolves with undefined if the inspector has no such page. */
export type App = (request: InspectorRequest) => Promise<InspectorResponse | undefined>

/** The inspector without a server: access, then login, then the page. */
export function createApp(source: Source, options: ResolvedOptions): App {
  const session = createSession(options.token)
  const notices = createNotices()

  function toCall(request: InspectorRequest): Call {
    const { query, base, headers } = request
    const filters = readFilters(query)
    const href: Context['href'] = (path, parameters = {}) => {
      const all = new URLSearchParams([...toParameters(filters), ...Object.entries(parameters)])
      return base + path + (all.size > 0 ? `?${all}` : '')
    }
    const context: Context = {
      source,
      request,
      filters,
      formSecret: session.formSecret,
      hasLogin: options.token !== undefined,
      notice: notices.get(query.get('notice')),
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
