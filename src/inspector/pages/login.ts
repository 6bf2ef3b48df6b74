import type { Session } from '../access/session.ts'
import { bareDocument } from '../html/page.ts'
import { html } from '../html/template.ts'
import {
  InspectorError,
  type InspectorRequest,
  type InspectorResponse,
  redirect,
  respondHtml,
} from '../http/message.ts'

/** The login page. Returns to the requested page after the login. */
export function loginPage({ base, path }: InspectorRequest, message?: string): InspectorResponse {
  const markup = bareDocument(
    base,
    'Log in',
    html`<h1>geohook</h1>
${message ? html`<p class="notice bad" role="alert">${message}</p>` : ''}<form method="post" action="${base}/login">
<input type="hidden" name="to" value="${path}">
<div class="field"><label for="token">Token</label><input id="token" name="token" type="password" autocomplete="current-password" required></div>
<button>Log in</button></form>`,
  )
  return respondHtml(401, markup, { 'www-authenticate': 'Bearer' })
}

/** @throws {InspectorError} 415, 413 */
export async function logIn(request: InspectorRequest, session: Session): Promise<InspectorResponse> {
  const { token = '', to = '/' } = await request.readForm()
  // A path that begins with two slashes would be the address of another host. Headers contain ASCII only.
  const path = /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/'
  if (!session.isToken(token)) return loginPage({ ...request, path }, 'Wrong token.')
  return redirect(request.base + path, { 'set-cookie': session.cookie(request, true) })
}

export function errorPage(base: string, error: unknown): InspectorResponse {
  const isKnown = error instanceof InspectorError
  const status = isKnown ? error.status : 500
  const message = isKnown ? error.message : 'The inspector failed. This is a bug in geohook.'
  return respondHtml(
    status,
    bareDocument(
      base,
      `Error ${status}`,
      html`<h1>Error ${status}</h1>
<p>${message}</p>
<p><a href="${base}/">Deliveries</a></p>`,
    ),
    status === 503 ? { 'retry-after': '5' } : {},
  )
}
