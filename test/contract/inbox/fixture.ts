import { createReceiver, type Delivery, type Handler, type Receiver } from 'geohook'
import type { DurableInbox, InboxOptions, WorkOptions } from 'geohook/inbox'
import { afterEach, beforeEach, vi } from 'vitest'
import { deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import type { InboxEngine, InboxEngineKind } from './engine.ts'

/** Short delays for tests. */
const QUICK: InboxOptions = { retryDelay: 50, maxRetryDelay: 200 }

/** Creates a store for each test. After the test, closes the inboxes and removes the store. */
export interface Fixture {
  open(options?: InboxOptions): DurableInbox
  /** Sends a signed delivery to a receiver that uses the inbox. Returns the response status and the delivery's id. */
  send(inbox: DurableInbox, changeType?: string): Promise<{ status: number; id: string }>
  /** Starts workers with one handler for all change types. */
  work(inbox: DurableInbox, handler: Handler, options?: WorkOptions): ReturnType<DurableInbox['work']>
}

let number = 0

/** Creates a unique payload. */
export const uniquePayload = (changeType = 'FeaturesCreated'): string =>
  JSON.stringify({ ...JSON.parse(payloadOf(changeType)), number: number++ })

export function useEngine(kind: InboxEngineKind): Fixture {
  let engine: InboxEngine
  let inboxes: DurableInbox[] = []
  beforeEach(async () => {
    engine = await kind.create()
    inboxes = []
  })
  afterEach(async () => {
    await Promise.all(inboxes.map((inbox) => inbox.close()))
    await engine.remove()
  })

  return {
    open(options) {
      // Without an observer, failures would fill the output with warnings.
      const observer = { failed() {}, dead() {}, trouble() {} }
      const inbox = engine.open({ ...QUICK, observer, ...options })
      inboxes.push(inbox)
      return inbox
    },
    async send(inbox, changeType) {
      let id = ''
      const observer = {
        accepted({ delivery }: { delivery: Delivery }) {
          id = delivery.id
        },
        failed() {},
      }
      const receiver: Receiver = createReceiver({ signatureKey: KEY, inbox, observer })
      const { status } = await deliver(receiver, uniquePayload(changeType))
      return { status, id }
    },
    work: (inbox, handler, options) =>
      inbox.work(createReceiver({ signatureKey: KEY }).on('*', handler), options),
  }
}

/** Polls until a condition is true. */
export const until = (check: () => Promise<boolean> | boolean, milliseconds = 60_000): Promise<void> =>
  vi.waitUntil(check, { timeout: milliseconds, interval: 20 }).then(() => {})
