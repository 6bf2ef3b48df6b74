import { once } from 'node:events'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { type Answer, send } from '../helpers/http.ts'

/** Deliveries sent over HTTP. The sender retries each delivery until the receiver accepts it. */
export interface Load {
  /** All responses, in the order of arrival. */
  readonly responses: { status: number; retryAfter: string | undefined }[]
  /** Bodies accepted with 202, or with 200 as a duplicate. */
  readonly accepted: ReadonlySet<string>
  /** Bodies that a handler received. */
  readonly handled: ReadonlySet<string>
  /** Stops sending new deliveries. Resolves when all sent deliveries are accepted. */
  end(): Promise<void>
  close(): Promise<void>
}

/** Number of concurrent senders. */
const SENDERS = 8

/** Milliseconds that a sender waits before it retries. */
const RETRY_DELAY = 100

/** Starts senders, and a receiver with workers. */
export async function startLoad(inbox: DurableInbox): Promise<Load> {
  const responses: Load['responses'] = []
  const [accepted, handled] = [new Set<string>(), new Set<string>()]
  const log = { failed() {} }
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: log }).on('*', (_, { rawBody }) => {
    handled.add(new TextDecoder().decode(rawBody))
  })
  inbox.work(receiver)
  const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
  let isEnding = false

  async function sendUntilAccepted(body: string): Promise<void> {
    while (!accepted.has(body)) {
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
      const answer: Answer = await send(url, { headers, body })
      const { status } = answer
      const retryAfter = answer.headers['retry-after']
      responses.push({ status, retryAfter })
      if (status === 200 || status === 202) accepted.add(body)
      else await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY))
    }
  }

  const senders = Array.from({ length: SENDERS }, async () => {
    while (!isEnding) await sendUntilAccepted(uniquePayload())
  })
  return {
    responses,
    accepted,
    handled,
    async end() {
      isEnding = true
      await Promise.all(senders)
    },
    async close() {
      isEnding = true
      server.close()
      server.closeAllConnections()
      await inbox.close()
    },
  }
}
