import { createServer } from 'node:http'
import type { DurableInbox } from 'geohook/inbox'
import { createInspector, type InspectorOptions } from 'geohook/inspector'
import { onTestFinished } from 'vitest'
import { type Answer, send } from '../../helpers/http.ts'

/** The inspector of an inbox behind a real server. */
export interface InboxPage {
  url: string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Submits a form of the page, with its secret. Returns the page after the redirect. */
  post(path: string, fields?: Record<string, string>): Promise<Answer>
}

export async function openPage(inbox: DurableInbox, options?: InspectorOptions): Promise<InboxPage> {
  const server = createServer(createInspector(inbox, options))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const url = `http://127.0.0.1:${port}`
  const get: InboxPage['get'] = (path, headers = {}) => send(url + path, { method: 'GET', headers })
  let secret: string | undefined
  return {
    url,
    get,
    async post(path, fields = {}) {
      // The secret is the same on every page. A panel's form has it even if there are no buttons for deliveries.
      secret ??= /name="form-secret" value="([^"]+)"/.exec((await get('/inbox/purge-done')).text)?.[1]
      const body = new URLSearchParams({ 'form-secret': secret ?? '', ...fields }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await send(url + path, { headers, body })
      const { location } = answer.headers
      return location === undefined ? answer : get(location)
    },
  }
}

/** Ids of the listed deliveries, in their order. */
export const idsIn = ({ text }: Answer): string[] =>
  [...text.matchAll(/<li data-id="([^"]+)"/g)].map(([, id]) => id as string)

/** The result of the last action. */
export const noticeIn = ({ text }: Answer): string | undefined =>
  /<p class="notice (?:good|bad)" role="status"[^>]*>([^<]*)/.exec(text)?.[1]

/** The value of a fact, without markup. */
export const factIn = ({ text }: Answer, name: string): string | undefined => {
  const [, rest] = text.split(`<dt>${name}</dt><dd>`)
  return rest?.split('</dd>')[0]?.replace(/<[^>]*>/g, '')
}
