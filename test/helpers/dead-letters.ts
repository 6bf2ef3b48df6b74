import { createReceiver, type Delivery } from 'geohook'
import type { DurableInbox, InboxOptions } from 'geohook/inbox'
import { vi } from 'vitest'
import { deliver, KEY, payloadOf } from './deliver.ts'

/** Options with which one failed attempt makes a dead letter, without a warning. */
export const ONE_ATTEMPT: InboxOptions = {
  attempts: 1,
  observer: { failed() {}, dead() {}, trouble() {} },
}

let number = 0

/** Creates unique payloads. */
export const payloads = (count: number, changeType = 'FeaturesCreated'): string[] =>
  Array.from({ length: count }, () =>
    JSON.stringify({ ...JSON.parse(payloadOf(changeType)), number: number++ }),
  )

/** Sends signed deliveries through a receiver into an inbox. Returns their ids. */
export async function fill(
  inbox: DurableInbox,
  bodies: readonly string[],
  headers?: Record<string, string>,
): Promise<string[]> {
  const ids: string[] = []
  const observer = { accepted: ({ delivery }: { delivery: Delivery }) => void ids.push(delivery.id) }
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer })
  await Promise.all(bodies.map((body) => deliver(receiver, body, headers)))
  return ids
}

/** Handles all deliveries of an inbox. With an error, every handler throws it. */
export async function handleAll(inbox: DurableInbox, error?: string): Promise<void> {
  const receiver = createReceiver({ signatureKey: KEY, observer: { failed() {} } }).on('*', () => {
    if (error !== undefined) throw new Error(error)
  })
  const workers = inbox.work(receiver, { concurrency: 100 })
  const isIdle = async (): Promise<boolean> => {
    const { waiting, active } = await inbox.stats()
    return waiting + active === 0
  }
  await vi.waitUntil(isIdle, { timeout: 30_000, interval: 20 })
  await workers.close()
}
