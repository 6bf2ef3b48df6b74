import type { DurableInbox } from './inbox.ts'
import { createMemoryTable } from './memory-table.ts'
import { type InboxOptions, readClock, readInboxOptions } from './options.ts'
import { createQueueInbox } from './queue.ts'

/** What {@link createMemoryInbox} takes. */
export interface MemoryInboxOptions extends InboxOptions {
  /** The time in milliseconds since 1970, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined
}

/**
 * An inbox in the memory of this process, for tests: it does all that the others do, but survives nothing.
 *
 * @throws {WebhookError} `config_invalid`
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createMemoryInbox } from 'geohook/inbox'
 *
 * const inbox = createMemoryInbox()
 * const receiver = createReceiver({ signatureKey: 'parcels2026', inbox }).on('*', (event) => console.log(event))
 * inbox.work(receiver)
 * await inbox.close() // at the end of a test: when what is at work has ended
 * ```
 */
export function createMemoryInbox(options: MemoryInboxOptions = {}): DurableInbox {
  const clock = readClock(options.clock)
  return createQueueInbox(createMemoryTable(clock), readInboxOptions(options), clock)
}
