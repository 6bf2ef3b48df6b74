import type { Request, Response } from 'express'
import { type AdminError, needsToken, toAdminError, toErrorBody } from '../http/errors.ts'
import { questionPage, rejectedPage, type Submission } from './html/form-page.ts'
import { contentSecurityPolicy, rootOf, type Site, type View } from './html/layout.ts'
import { errorPage, responsePage } from './html/pages.ts'
import { type Format, initialFormat } from './response-format.ts'
import type { ErrorOptions } from './rest-paths.ts'

/** Headers of every response. They protect the keys in responses and the forms in HTML pages. */
const HEADERS = {
  'cache-control': 'no-store',
  // With `no-referrer`, browsers would submit the forms of these pages with the origin `null`, which
  // `refuseOtherOrigins` refuses.
  'referrer-policy': 'same-origin',
  vary: 'accept',
  'x-content-type-options': 'nosniff',
}

/** The response to one request. */
export interface AdminResponse {
  /**
   * The format of the response. Initially that of `initialFormat`, which errors before the parameters are read use; then
   * the format that the parameters request, if any.
   */
  format: Format
  send(view: Omit<View, 'root' | 'site'>): void
  /** Sends a page that asks, if the format is HTML and the operation asks. @returns false if nothing was sent */
  ask(submission: Submitted): boolean
  /** @param submission shown again in HTML, if the user can correct the error there */
  fail(error: unknown, submission?: Submitted): void
}

/** A submitted form, without the members that all pages share. */
export type Submitted = Omit<Submission, 'place'> & Pick<View, 'address' | 'id'>

/** Options of {@link createAdminResponse}. */
interface AdminResponseOptions {
  path: string
  query: string
  site: Site
  errors: ErrorOptions
}

/** In the format `error`, clients recognize 498 and 499 only if the HTTP status is 200. */
function httpStatusOf(error: AdminError, { errorFormat, httpStatus }: ErrorOptions): number {
  if (httpStatus === 'always200' || (errorFormat === 'error' && needsToken(error))) return 200
  return error.status
}

export function createAdminResponse(
  req: Request,
  res: Response,
  { path, query, site, errors }: AdminResponseOptions,
): AdminResponse {
  const root = rootOf(path)

  function write(code: number, format: Format, body: object, toPage: () => string): void {
    const isPage = format === 'html'
    const text = isPage ? toPage() : JSON.stringify(body, null, format === 'pjson' ? 2 : 0)
    res
      .status(code)
      .set(HEADERS)
      .set('content-security-policy', contentSecurityPolicy(site))
      .set('content-type', `${isPage ? 'text/html' : 'application/json'}; charset=utf-8`)
      .set('content-length', String(Buffer.byteLength(text)))
      // `send` would compute an ETag, which `no-store` makes useless.
      .end(text)
  }

  const toSubmission = ({ address, id, operation, parameters }: Submitted): Submission => ({
    place: { address, id, root, site },
    operation,
    parameters,
  })

  return {
    format: initialFormat(req, query),
    send(view) {
      write(200, this.format, view.body, () => responsePage({ ...view, root, site }))
    },
    ask(submission) {
      const markup = this.format === 'html' ? questionPage(toSubmission(submission)) : undefined
      if (markup !== undefined) write(200, 'html', {}, () => markup)
      return markup !== undefined
    },
    fail(thrown, submission) {
      const error: AdminError = toAdminError(thrown)
      write(httpStatusOf(error, errors), this.format, toErrorBody(error, errors.errorFormat), () => {
        const again = submission && rejectedPage(toSubmission(submission), error)
        return again ?? errorPage(error, root, site)
      })
    },
  }
}
