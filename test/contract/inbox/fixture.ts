import { createReceiver, type Delivery, type Handler, type Receiver } from 'geohook'
import type { DurableInbox, InboxOptions, WorkOptions } from 'geohook/inbox'
import { it, vi } from 'vitest'
import { deliver, KEY, payloadOf } from '../../helpers/deliver.ts'
import type { InboxEngineKind } from './engine.ts'

/** Short delays. Without an observer, failures would fill the output with warnings. */
const QUICK: InboxOptions = {
  retryDelay: 50,
  maxRetryDelay: 200,
  observer: { failed() {}, dead() {}, trouble() {} },
}

let number = 0

/** Creates a unique payload. */
export const uniquePayload = (changeType = 'FeaturesCreated'): string =>
  JSON.stringify({ ...JSON.parse(payloadOf(changeType)), number: number++ })

interface Engine<Options, Store> {
  open(options?: Options): Store
  /** Ends the leases of all deliveries. Only engines of shared inboxes have it. */
  endLeases?(): Promise<void>
  remove(): Promise<void>
}

/** Tests with `open`, which opens a store for this test only. After the test, closes and removes it. */
export const testWith = <Options, Store extends { close(): Promise<void> }>(
  kind: { create(): Promise<Engine<Options, Store>> },
  defaults?: Options,
) =>
  it.extend<{ engine: Engine<Options, Store>; open(options?: Options): Store; endLeases(): Promise<void> }>({
    // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern
    engine: async ({}, use) => use(await kind.create()),
    endLeases: async ({ engine }, use) => use(async () => engine.endLeases?.()),
    async open({ engine, onTestFinished }, use) {
      const stores: Store[] = []
      onTestFinished(async () => {
        await Promise.all(stores.map((store) => store.close()))
        await engine.remove()
      })
      await use((options) => {
        const store = engine.open({ ...defaults, ...options } as Options)
        stores.push(store)
        return store
      })
    },
  })

/** Tests with inboxes. */
export const testInbox = (kind: InboxEngineKind) => testWith<InboxOptions, DurableInbox>(kind, QUICK)

/** Sends a signed delivery to a receiver that uses the inbox. Returns the response status and the delivery's id. */
export async function send(
  inbox: DurableInbox,
  changeType?: string,
): Promise<{ status: number; id: string }> {
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
}

/** Starts workers with one handler for all change types. */
export const work = (inbox: DurableInbox, handler: Handler, options?: WorkOptions) =>
  inbox.work(createReceiver({ signatureKey: KEY }).on('*', handler), options)

/** Polls until a condition is true. */
export const until = (check: () => Promise<boolean> | boolean, milliseconds = 60_000): Promise<void> =>
  vi.waitUntil(check, { timeout: milliseconds, interval: 20 }).then(() => {})
