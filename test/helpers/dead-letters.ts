import { createReceiver, type Delivery, type Receiver } from 'geohook'
import type { DurableInbox, InboxOptions } from 'geohook/inbox'
import { vi } from 'vitest'
import { deliver, KEY, payloadOf } from './deliver.ts'

/** Inbox options: a delivery becomes a dead letter after one failed attempt, and the inbox emits no warnings. */
export const ONE_ATTEMPT: InboxOptions = {
  attempts: 1,
  observer: { failed() {}, dead() {}, trouble() {} },
}

let number = 0

/** Creates `count` payloads that all differ. */
export const payloads = (count: number, changeType = 'FeaturesCreated'): string[] =>
  Array.from({ length: count }, () =>
    JSON.stringify({ ...JSON.parse(payloadOf(changeType)), number: number++ }),
  )

/** Stores signed deliveries in an inbox by sending them to a receiver. Returns their ids. */
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

/** Handles all waiting deliveries of an inbox. If `error` is given, the handler throws it every time. */
export const handleAll = (inbox: DurableInbox, error?: string): Promise<void> =>
  handleNamed(inbox, { '': error })

/** Handles all waiting deliveries with the handlers of each name, empty for none, which throw the given errors. */
export function handleNamed(inbox: DurableInbox, errors: Record<string, string | undefined>): Promise<void> {
  const receiver = createReceiver({ signatureKey: KEY, inbox, observer: { failed() {} } })
  for (const [name, error] of Object.entries(errors)) {
    const handler = () => {
      if (error !== undefined) throw new Error(error)
    }
    receiver.on('*', handler, name === '' ? undefined : { name })
  }
  return workUntilIdle(inbox, receiver)
}

/** Makes all waiting deliveries of an inbox unhandled. */
export const leaveAll = (inbox: DurableInbox): Promise<void> =>
  workUntilIdle(
    inbox,
    createReceiver({ signatureKey: KEY }).on('Other', () => {}),
  )

async function workUntilIdle(inbox: DurableInbox, receiver: Receiver): Promise<void> {
  const workers = inbox.work(receiver, { concurrency: 100 })
  const isIdle = async (): Promise<boolean> => {
    const { waiting, active } = await inbox.stats()
    return waiting + active === 0
  }
  await vi.waitUntil(isIdle, { timeout: 60_000, interval: 20 })
  await workers.close()
}
