import { configInvalid } from '../errors.ts'
import type { Receiver } from '../receiver/api.ts'
import type { InboxEntry, InboxPage, InboxState, ListOptions, PurgeOptions, WorkOptions } from './inbox.ts'
import { createInboxTell, type InboxObserver, type InboxTell } from './observer.ts'

/** What every inbox takes. docs/inbox.md has the same as a table. */
export interface InboxOptions {
  /** How many may be waiting or active before more are refused with 503, from 1. Default 100,000. */
  maxPending?: number | undefined
  /** How often a delivery is tried to be handled, 1 to 1,000. Default 20. */
  attempts?: number | undefined
  /** Milliseconds between the first attempt and the second, 1 to 2^31 - 1; each further wait is twice as long. Default 1,000. */
  retryDelay?: number | undefined
  /** The longest wait between two attempts, in milliseconds, 1 to 2^31 - 1. Default 600,000. */
  maxRetryDelay?: number | undefined
  /** Milliseconds that an attempt may take, 1 to 2^31 - 1. Default 60,000. */
  timeout?: number | undefined
  /** Milliseconds after which a delivery whose process says nothing any more is taken by another, 1,000 to 2^31 - 1. Default 30,000. */
  lease?: number | undefined
  /** Milliseconds that deliveries which are done are kept, and known as duplicates, from 1. Default 86,400,000, one day. */
  retention?: number | undefined
  /** Milliseconds that dead letters are kept, from 1. Default 2,592,000,000, thirty days. */
  deadRetention?: number | undefined
  /** Is told what happens. Default: failures become process warnings, at most one a minute for each code. */
  observer?: InboxObserver | undefined
}

/** The options, checked and ready for use. */
export interface InboxConfig {
  maxPending: number
  attempts: number
  retryDelay: number
  maxRetryDelay: number
  timeout: number
  lease: number
  retention: number
  deadRetention: number
  tell: InboxTell
}

const MAX_TIMER = 2 ** 31 - 1
const DAY = 86_400_000

/** @throws {WebhookError} `config_invalid` */
export function readInboxOptions(options: InboxOptions): InboxConfig {
  return {
    maxPending: readNumber('maxPending', options.maxPending ?? 100_000, 1),
    attempts: readNumber('attempts', options.attempts ?? 20, 1, 1_000),
    retryDelay: readNumber('retryDelay', options.retryDelay ?? 1_000, 1, MAX_TIMER),
    maxRetryDelay: readNumber('maxRetryDelay', options.maxRetryDelay ?? 600_000, 1, MAX_TIMER),
    timeout: readNumber('timeout', options.timeout ?? 60_000, 1, MAX_TIMER),
    lease: readNumber('lease', options.lease ?? 30_000, 1_000, MAX_TIMER),
    retention: readNumber('retention', options.retention ?? DAY, 1),
    deadRetention: readNumber('deadRetention', options.deadRetention ?? 30 * DAY, 1),
    tell: createInboxTell(options.observer ?? {}),
  }
}

/** @throws {WebhookError} `config_invalid` */
export function readConcurrency(receiver: Pick<Receiver, 'handle'>, options?: WorkOptions): number {
  if (typeof receiver?.handle !== 'function') throw configInvalid('work() needs a receiver')
  return readNumber('concurrency', options?.concurrency ?? 4, 1, 1_000)
}

/** What to list, checked. */
export interface Listing {
  state: InboxState | undefined
  limit: number
  /** How many come before the page. */
  offset: number
}

const STATES: readonly unknown[] = ['waiting', 'active', 'done', 'dead', undefined]

/** @throws {WebhookError} `config_invalid` */
export function readListOptions(options?: ListOptions): Listing {
  const { state, limit = 100, after = '0' } = options ?? {}
  if (!STATES.includes(state)) throw configInvalid('state must be waiting, active, done or dead')
  if (typeof after !== 'string' || !/^\d{1,15}$/.test(after))
    throw configInvalid('after must be the next of a page')
  return { state, limit: readNumber('limit', limit, 1, 1_000), offset: Number(after) }
}

/**
 * A page of what was found.
 *
 * @param entries one more than `limit`, where there are so many
 */
export function toPage(entries: InboxEntry[], { limit, offset }: Listing): InboxPage {
  if (entries.length <= limit) return { entries }
  return { entries: entries.slice(0, limit), next: String(offset + limit) }
}

/** @throws {WebhookError} `config_invalid` */
export function readPurgeOptions(options: PurgeOptions): { state: 'done' | 'dead'; olderThan: number } {
  const { state, olderThan = 0 } = options ?? {}
  if (state !== 'done' && state !== 'dead') throw configInvalid('state must be done or dead')
  return { state, olderThan: readNumber('olderThan', olderThan, 0) }
}

/** @throws {WebhookError} `config_invalid` */
export function readClock(clock: () => number = Date.now): () => number {
  if (typeof clock !== 'function') throw configInvalid('clock must be a function')
  return clock
}

/** @throws {WebhookError} `config_invalid` */
export function readNumber(
  name: string,
  value: number,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw configInvalid(`${name} must be a whole number, ${least} to ${most}`)
}
