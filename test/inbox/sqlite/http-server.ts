import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { createSqliteInbox, type DurableInbox } from 'geohook/sqlite'
import { uniquePayload } from '../../contract/inbox/fixture.ts'
import { JSON_TYPE, KEY, signatureOf } from '../../helpers/deliver.ts'
import { type Answer, send } from '../../helpers/http.ts'

/** A receiver over an inbox, on a socket. */
export interface Served {
  inbox: DurableInbox
  /** Sends a delivery that no other is like. */
  post(size?: number): Promise<Answer>
  /** The ids of those that were answered with 202. */
  accepted: string[]
  /** Asks the server for something else, again and again, until a promise ends; gives how often it answered. */
  answeredUntil(end: Promise<unknown>): Promise<number>
  close(): Promise<void>
}

export async function serve(path: string): Promise<Served> {
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
  const server = createServer((req, res) => void (req.url === '/hook' ? hook(req, res) : res.end('well')))
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
    async answeredUntil(end) {
      let count = 0
      let isOver = false
      const over = end.finally(() => {
        isOver = true
      })
      while (!isOver) {
        await send(`${origin}/health`, { method: 'GET' })
        count++
      }
      await over
      return count
    },
    async close() {
      await new Promise((resolve) => server.close(resolve))
      await inbox.close()
    },
  }
}
