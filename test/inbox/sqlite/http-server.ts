import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { createSqliteInbox } from 'geohook/sqlite'
import { afterEach, beforeEach } from 'vitest'
import { uniquePayload } from '../../contract/inbox/fixture.ts'
import { JSON_TYPE, KEY, signatureOf } from '../../helpers/deliver.ts'
import { createFolder } from '../../helpers/folder.ts'
import { type Answer, send } from '../../helpers/http.ts'

/** An HTTP server with a receiver and a SQLite inbox. */
export interface InboxServer {
  inbox: DurableInbox
  /** Sends a unique delivery. */
  post(size?: number): Promise<Answer>
  /** Ids of deliveries whose response was 202. */
  accepted: string[]
  /**
   * Sends requests that do not use the inbox, one after another, until a promise settles. Resolves with the number of
   * responses.
   */
  countResponsesUntil(end: Promise<unknown>): Promise<number>
  close(): Promise<void>
}

export async function startInboxServer(path: string): Promise<InboxServer> {
  const inbox = createSqliteInbox({ path, observer: { trouble() {} } })
  const accepted: string[] = []
  const receiver = createReceiver({
    signatureKey: KEY,
    inbox,
    observer: {
      handled: ({ delivery, outcome }) => void (outcome.kind === 'stored' && accepted.push(delivery.id)),
      failed() {},
    },
  })
  const hook = webhook(receiver)
  const server = createServer((req, res) => void (req.url === '/hook' ? hook(req, res) : res.end('ok')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    inbox,
    accepted,
    async post(size = 0) {
      const body = JSON.stringify({ ...JSON.parse(uniquePayload()), pad: 'x'.repeat(size) })
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
      return send(`${origin}/hook`, { headers, body })
    },
    async countResponsesUntil(end) {
      let count = 0
      let isSettled = false
      const settled = end.finally(() => {
        isSettled = true
      })
      while (!isSettled) {
        await send(`${origin}/health`, { method: 'GET' })
        count++
      }
      await settled
      return count
    },
    async close() {
      await new Promise((resolve) => server.close(resolve))
      await inbox.close()
    },
  }
}

/** Starts a server with an inbox for each test. The inbox file is in `folder`. */
export interface InboxServerFixture {
  readonly folder: ReturnType<typeof createFolder>
  readonly path: string
  readonly server: InboxServer
}

export function useInboxServer(): InboxServerFixture {
  let folder: ReturnType<typeof createFolder>
  let server: InboxServer
  beforeEach(async () => {
    folder = createFolder()
    server = await startInboxServer(folder.fileIn('inbox.db'))
  })
  afterEach(async () => {
    await server.close()
    await folder.remove()
  })
  return {
    get folder() {
      return folder
    },
    get path() {
      return folder.fileIn('inbox.db')
    },
    get server() {
      return server
    },
  }
}
