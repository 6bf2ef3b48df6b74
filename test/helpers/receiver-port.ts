import type { AttemptContext, Receiver, StoredDelivery } from 'geohook'
import type { DeliveryHandler } from 'geohook/inbox'
import type { ReceiverPort } from '../../src/receiver/port.ts'

export type { NextResult, ReceiverRequest } from '../../src/receiver/types.ts'

/** Returns what adapters and inboxes use of a receiver, to pass requests that no framework would send. */
export const receiverPort = (receiver: Receiver<never> | Receiver): ReceiverPort =>
  (receiver as unknown as Record<symbol, ReceiverPort>)[Symbol.for('geohook.receiver')] as ReceiverPort

/** Creates a receiver for workers that coalesce. */
export function groupHandler(
  handleTogether: ReceiverPort['handleTogether'],
  handle: (stored: StoredDelivery, context: AttemptContext) => Promise<unknown> = async () => {},
): DeliveryHandler {
  const fates = new Map([['', { changeTypes: new Set(['*']) }]])
  const port: Partial<ReceiverPort> = { handleTogether, changeTypes: () => ['*'], fates }
  return { handle, [Symbol.for('geohook.receiver')]: port } as DeliveryHandler
}
