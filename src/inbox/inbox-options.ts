import { milliseconds, type OptionNames, oneOf, wholeNumber } from '../options.ts'
import { createInboxNotify, type InboxNotify, type InboxObserver } from './inbox-observer.ts'

/** Options of every inbox, also listed in docs/inbox.md. */
export interface InboxOptions {
  /**
   * Maximum number of waiting and active deliveries, from 1. Further deliveries are rejected with 503. Default 100,000.
   */
  maxPending?: number | undefined
  /** Maximum number of attempts to handle a delivery, 1 to 1,000. Default 25. */
  attempts?: number | undefined
  /**
   * Milliseconds between the first attempt and the second, 1 to 2^31 - 1. Each further delay is twice the previous one.
   * Default 1,000.
   */
  retryDelay?: number | undefined
  /** Maximum delay between two attempts in milliseconds, 1 to 2^31 - 1. Default 7,200,000. */
  maxRetryDelay?: number | undefined
  /** Maximum duration of an attempt in milliseconds, 1 to 2^31 - 1. Default 60,000. */
  timeout?: number | undefined
  /**
   * Lease of an active delivery in milliseconds, 1,000 to 2^31 - 1. If its worker does not renew the lease in time,
   * another worker takes the delivery. Default 30,000.
   */
  lease?: number | undefined
  /** Milliseconds that done deliveries are kept and recognized as duplicates, from 1. Default 86,400,000, one day. */
  retention?: number | undefined
  /** Milliseconds that dead letters and unhandled deliveries are kept, from 1. Default 2,592,000,000, thirty days. */
  deadRetention?: number | undefined
  /**
   * What becomes of a delivery without a handler for any of its events, if no other worker has one: `'keep'` keeps it
   * as `unhandled` until a worker has a handler for it, at most as long as dead letters; `'done'` makes it done. Default
   * `'keep'`.
   */
  unhandled?: 'keep' | 'done' | undefined
  /** Functions to call on events. Default: failures become process warnings, at most one a minute for each code. */
  observer?: InboxObserver | undefined
}

export const INBOX_OPTIONS: OptionNames<InboxOptions> = {
  maxPending: wholeNumber(1),
  attempts: wholeNumber(1, 1_000),
  retryDelay: milliseconds(),
  maxRetryDelay: milliseconds(),
  timeout: milliseconds(),
  lease: milliseconds(1_000),
  retention: milliseconds(1, Number.MAX_SAFE_INTEGER),
  deadRetention: milliseconds(1, Number.MAX_SAFE_INTEGER),
  unhandled: oneOf('keep', 'done'),
  observer: true,
}

/** The options, with defaults. */
export type InboxConfig = { notify: InboxNotify } & {
  [Name in Exclude<keyof InboxOptions, 'observer'>]-?: NonNullable<InboxOptions[Name]>
}

const DAY = 86_400_000

/**
 * @param options checked ones, except for the observer
 * @throws {WebhookError} `config_invalid`
 */
export function readInboxOptions(options: InboxOptions): InboxConfig {
  return {
    maxPending: options.maxPending ?? 100_000,
    attempts: options.attempts ?? 25,
    retryDelay: options.retryDelay ?? 1_000,
    maxRetryDelay: options.maxRetryDelay ?? 7_200_000,
    timeout: options.timeout ?? 60_000,
    lease: options.lease ?? 30_000,
    retention: options.retention ?? DAY,
    deadRetention: options.deadRetention ?? 30 * DAY,
    unhandled: options.unhandled ?? 'keep',
    notify: createInboxNotify(options.observer),
  }
}
