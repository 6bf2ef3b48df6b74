import { once } from 'node:events'
import { createServer } from 'node:http'
import { createReceiver } from 'geohook'
import type { DurableInbox } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { type Answer, send } from '../helpers/http.ts'

/** What is sent to a receiver over real HTTP, as a sender does it: again and again, until it is taken. */
export interface Load {
  /** Of each answer, in their order. */
  readonly answers: { status: number; retryAfter: string | undefined; milliseconds: number }[]
  /** The bodies that were answered with 202, or 200 as a duplicate. */
  readonly taken: ReadonlySet<string>
  /** The bodies that a handler has had. */
  readonly handled: ReadonlySet<string>
  /** No more new ones; resolves when all that were begun are taken. */
  end(): Promise<void>
  close(): Promise<void>
}

/** So many senders at a time. */
const SENDERS = 8

/** Milliseconds until a sender tries again. */
const AGAIN = 100

/** A receiver with an inbox that works, and senders that send to it. */
export async function startLoad(inbox: DurableInbox): Promise<Load> {
  const answers: Load['answers'] = []
  const [taken, handled] = [new Set<string>(), new Set<string>()]
  const log = { failed() {} }
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: log }).on('*', (_, { rawBody }) => {
    handled.add(new TextDecoder().decode(rawBody))
  })
  inbox.work(receiver)
  const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
  let isEnding = false

  async function sendUntilTaken(body: string): Promise<void> {
    while (!taken.has(body)) {
      const began = performance.now()
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }
      const answer: Answer = await send(url, { headers, body })
      const { status } = answer
      const retryAfter = answer.headers['retry-after']
      answers.push({ status, retryAfter, milliseconds: performance.now() - began })
      if (status === 200 || status === 202) taken.add(body)
      else await new Promise((resolve) => setTimeout(resolve, AGAIN))
    }
  }

  const senders = Array.from({ length: SENDERS }, async () => {
    while (!isEnding) await sendUntilTaken(uniquePayload())
  })
  return {
    answers,
    taken,
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
