import type { Request, Response } from 'express'
import { type AdminError, toAdminError } from '../http/errors.ts'
import type { Context } from './context.ts'
import { CONTENT_SECURITY_POLICY } from './html/layout.ts'
import { answerPage, errorPage } from './html/pages.ts'
import { rootOf, type Site, type View } from './html/view.ts'
import { type Format, formatBefore } from './response-format.ts'

/** What every answer bears: it can hold keys, and pages hold forms that change things. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  // With `no-referrer`, browsers would send these forms with the origin `null`.
  'referrer-policy': 'same-origin',
  vary: 'accept',
  'x-content-type-options': 'nosniff',
}

/** The answer to one request. */
export interface Reply {
  /** How it is to look, once it is known. */
  format: Format
  send(view: Omit<View, 'root' | 'site'>): void
  fail(error: unknown): void
}

/** What {@link createReply} takes beside the request and the response. */
interface ReplyOptions {
  path: string
  query: string
  site: Site
  httpStatus: Context['options']['httpStatus']
}

export function createReply(
  req: Request,
  res: Response,
  { path, query, site, httpStatus }: ReplyOptions,
): Reply {
  const root = rootOf(path)

  function write(code: number, format: Format, body: object, toPage: () => string): void {
    const isPage = format === 'html'
    const text = isPage ? toPage() : JSON.stringify(body, null, format === 'pjson' ? 2 : 0)
    res
      .status(code)
      .set(HEADERS)
      .set('content-type', `${isPage ? 'text/html' : 'application/json'}; charset=utf-8`)
      .set('content-length', String(Buffer.byteLength(text)))
      // Not `send`: it would make a digest of the answer, for caches that may not keep it.
      .end(text)
  }

  return {
    format: formatBefore(req, query),
    send(view) {
      write(200, this.format, view.body, () => answerPage({ ...view, root, site }))
    },
    fail(thrown) {
      const error: AdminError = toAdminError(thrown)
      const { status: code, messages } = error
      const body = { status: 'error', messages, code }
      write(httpStatus === 'rest' ? code : 200, this.format, body, () => errorPage(error, root, site))
    },
  }
}
