import { configInvalid } from '../errors.ts'
import { type OptionNames, requireKnownOptions } from '../options.ts'
import { receiverPort } from '../receiver/port.ts'
import type {
  CoalesceOptions,
  DeliveryHandler,
  InboxEntry,
  InboxPage,
  InboxState,
  ListOptions,
  PurgeOptions,
  WorkOptions,
} from './durable-inbox.ts'
import { readNumber } from './inbox-options.ts'

const WORK_OPTIONS: OptionNames<WorkOptions> = { concurrency: true, coalesce: true }
const COALESCE_OPTIONS: OptionNames<CoalesceOptions> = { by: true, wait: true }
const LIST_OPTIONS: OptionNames<ListOptions> = { state: true, limit: true, after: true }
const PURGE_OPTIONS: OptionNames<PurgeOptions> = { state: true, olderThan: true }

/** The validated options of `work`. */
export interface WorkConfig {
  concurrency: number
  /** Milliseconds for which a group waits for further deliveries. Undefined if deliveries are handled one by one. */
  wait: number | undefined
}

/** @throws {WebhookError} `config_invalid` */
export function readWorkOptions(receiver: DeliveryHandler, options?: WorkOptions): WorkConfig {
  if (typeof receiver?.handle !== 'function') throw configInvalid('work() needs a receiver')
  requireKnownOptions(options, WORK_OPTIONS)
  const { concurrency = 4, coalesce } = options ?? {}
  return {
    concurrency: readNumber('concurrency', concurrency, 1, 1_000),
    wait: coalesce === undefined ? undefined : readWait(receiver, coalesce),
  }
}

/** Returns true if all receivers have a handler for the change type; `undefined` without receivers. */
export function allHandle(receivers: Iterable<DeliveryHandler>, changeType: string): boolean | undefined {
  const all = [...receivers]
  return all.length === 0
    ? undefined
    : all.every((receiver) => receiverPort(receiver)?.handles(changeType) ?? true)
}

function readWait(receiver: DeliveryHandler, coalesce: CoalesceOptions): number {
  if (coalesce === null) throw configInvalid("coalesce must be an object such as { by: 'service' }")
  requireKnownOptions(coalesce, COALESCE_OPTIONS)
  if (coalesce.by !== 'service') throw configInvalid("coalesce.by must be 'service'")
  if (!receiverPort(receiver)) throw configInvalid('coalesce needs the receiver of createReceiver()')
  // Loads in the background what the receiver needs for its first group. That could be too late: if the process has no
  // free file descriptor, the import fails, and Node 20 never repeats a failed import.
  import('../receiver/join-events.ts').catch(() => {})
  return readNumber('coalesce.wait', coalesce.wait ?? 1_000, 1, 60_000)
}

/** The validated options of `list`. */
export interface ListQuery {
  state: InboxState | undefined
  limit: number
  /** Number of entries before the page. */
  offset: number
}

const STATES: readonly unknown[] = ['waiting', 'active', 'done', 'dead', undefined]

/** @throws {WebhookError} `config_invalid` */
export function readListOptions(options?: ListOptions): ListQuery {
  requireKnownOptions(options, LIST_OPTIONS)
  const { state, limit = 100, after = '0' } = options ?? {}
  if (!STATES.includes(state)) throw configInvalid('state must be waiting, active, done or dead')
  if (typeof after !== 'string' || !/^\d{1,15}$/.test(after))
    throw configInvalid('after must be the next of a page')
  return { state, limit: readNumber('limit', limit, 1, 1_000), offset: Number(after) }
}

/** The value of `after` for the page that begins after `offset` entries. */
export const toCursor = (offset: number): string => String(offset)

/**
 * Creates a page of entries.
 *
 * @param entries up to `limit` + 1 entries. Entry `limit` + 1 is not part of the page; it only shows that another page
 *   follows
 */
export function toPage(entries: InboxEntry[], { limit, offset }: ListQuery): InboxPage {
  if (entries.length <= limit) return { entries }
  return { entries: entries.slice(0, limit), next: toCursor(offset + limit) }
}

/** @throws {WebhookError} `config_invalid` */
export function readPurgeOptions(options: PurgeOptions): { state: 'done' | 'dead'; olderThan: number } {
  requireKnownOptions(options, PURGE_OPTIONS)
  const { state, olderThan = 0 } = options ?? {}
  if (state !== 'done' && state !== 'dead') throw configInvalid('state must be done or dead')
  return { state, olderThan: readNumber('olderThan', olderThan, 0) }
}
