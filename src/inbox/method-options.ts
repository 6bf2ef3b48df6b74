import { configInvalid } from '../errors.ts'
import {
  checkOptions,
  isFilledText,
  isText,
  milliseconds,
  must,
  type OptionNames,
  oneOf,
  requireValue,
  wholeNumber,
} from '../options.ts'
import { receiverPort } from '../receiver/port.ts'
import type {
  CoalesceOptions,
  DeliveryFilter,
  DeliveryHandler,
  InboxPage,
  ListOptions,
  OrderOptions,
  WorkOptions,
} from './durable-inbox.ts'
import type { EndState, ListedPage, ListQuery, TakeRequest, TaskFilter } from './engine-port.ts'
import { handlesType, toHandled } from './routing.ts'

const CONCURRENCY = wholeNumber(1, 1_000)
const WORK_OPTIONS: OptionNames<WorkOptions> = { concurrency: CONCURRENCY, coalesce: true, order: true }
/** The key of a task. */
const CURSOR = /^(\d{1,15})(?: ([\w.:-]{1,100}))?$/
const COALESCE_OPTIONS: OptionNames<CoalesceOptions> = { by: true, wait: true }
const AGE = milliseconds(0, Number.MAX_SAFE_INTEGER)
const FILTER: OptionNames<DeliveryFilter> = {
  changeType: isFilledText,
  service: isFilledText,
  error: isFilledText,
  handler: isText,
  olderThan: AGE,
  newerThan: AGE,
}
const END_STATES: readonly EndState[] = ['done', 'dead', 'unhandled']
/** Maximum number of tasks that one call of `list` compares with conditions. */
const MAX_COMPARED = 10_000
const ORDER_OPTIONS: OptionNames<OrderOptions> = { by: true, hold: true }
const LIST_OPTIONS: OptionNames<ListOptions> = {
  ...FILTER,
  state: oneOf('waiting', 'active', 'done', 'dead', 'unhandled'),
  limit: wholeNumber(1, 1_000),
  after: must('be the next of a page', (cursor) => typeof cursor === 'string' && CURSOR.test(cursor)),
  order: oneOf('oldest', 'newest'),
}

/** The validated options of `work`. */
export interface WorkConfig {
  /** Changes while the workers run, if the queue has a setting for it. */
  concurrency: number
  /** Milliseconds for which a group waits for further deliveries. Undefined if deliveries are handled one by one. */
  wait: number | undefined
  order: TakeRequest['order']
}

/** @throws {WebhookError} `config_invalid` */
export function readWorkOptions(receiver: DeliveryHandler, options?: WorkOptions): WorkConfig {
  if (typeof receiver?.handle !== 'function') throw configInvalid('work() needs a receiver')
  const { concurrency = 4, coalesce, order } = checkOptions(options, WORK_OPTIONS)
  if (coalesce !== undefined && order !== undefined)
    throw configInvalid('give either coalesce or order, not both')
  return {
    concurrency,
    wait: coalesce === undefined ? undefined : readWait(receiver, coalesce),
    order: order === undefined ? undefined : readOrder(order),
  }
}

/** Returns true if all receivers have a handler for the change type; `undefined` without receivers. */
export function allHandle(receivers: Iterable<DeliveryHandler>, changeType: string): boolean | undefined {
  const all = [...receivers]
  return all.length === 0
    ? undefined
    : all.every((receiver) => handlesType(toHandled(receiverPort(receiver)?.changeTypes()), changeType))
}

function readWait(receiver: DeliveryHandler, coalesce: CoalesceOptions): number {
  if (coalesce === null) throw configInvalid("coalesce must be an object such as { by: 'service' }")
  const { by, wait = 1_000 } = checkOptions(coalesce, COALESCE_OPTIONS)
  if (by !== 'service') throw configInvalid("coalesce.by must be 'service'")
  if (!receiverPort(receiver)) throw configInvalid('coalesce needs the receiver of createReceiver()')
  // Loads in the background what the receiver needs for its first group. That could be too late: if the process has no
  // free file descriptor, the import fails, and Node 20 never repeats a failed import.
  import('../receiver/join-events.ts').catch(() => {})
  return requireValue('coalesce.wait', wait, milliseconds(1, 60_000))
}

function readOrder(order: OrderOptions): { hold: number } {
  if (order === null) throw configInvalid("order must be an object such as { by: 'service' }")
  const { by, hold = 600_000 } = checkOptions(order, ORDER_OPTIONS)
  if (by !== 'service') throw configInvalid("order.by must be 'service'")
  return { hold: requireValue('order.hold', hold, wholeNumber(1, 2 ** 31 - 1)) }
}

/** @throws {WebhookError} `config_invalid` */
export const readConcurrency = (concurrency: number | undefined): number | undefined =>
  checkOptions({ concurrency }, { concurrency: CONCURRENCY }).concurrency

/** @throws {WebhookError} `config_invalid` */
export function readListOptions(options?: ListOptions): ListQuery {
  const { state, limit = 100, order = 'oldest', after, ...filter } = copyOptions(options, LIST_OPTIONS)
  for (const age of ['olderThan', 'newerThan'] as const)
    if (filter[age] !== undefined && !END_STATES.some((ended) => ended === state))
      throw configInvalid(`${age} requires a state: one of ${END_STATES.join(', ')}`)
  const [, seq, handler = ''] = CURSOR.exec(after ?? '') ?? []
  return {
    state,
    filter,
    limit,
    compared: hasConditions(filter) ? MAX_COMPARED : limit + 1,
    order,
    after: seq === undefined ? undefined : { seq: Number(seq), handler },
  }
}

/**
 * Creates a page of entries.
 *
 * @param page up to `limit` + 1 entries. Entry `limit` + 1 is not part of the page; it only shows that another page
 *   follows
 */
export function toPage({ listed, last }: ListedPage, limit: number): InboxPage {
  const entries = listed.slice(0, limit).map(({ entry }) => entry)
  const next = listed.length > limit ? listed[limit - 1] : last
  if (!next) return { entries }
  return { entries, next: next.handler === '' ? String(next.seq) : `${next.seq} ${next.handler}` }
}

export const hasConditions = (filter: DeliveryFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined)

/**
 * @param states the valid states
 * @throws {WebhookError} `config_invalid`
 */
export function readTaskFilter(options: TaskFilter, states: readonly EndState[] = END_STATES): TaskFilter {
  const filter = copyOptions<TaskFilter>(options, { ...FILTER, state: true })
  requireValue('state', filter.state, oneOf(...states))
  return filter
}

/** Also copies inherited options: without its conditions, a call would change all deliveries. */
function copyOptions<Options extends object>(
  options: Options | undefined,
  names: OptionNames<Options>,
): Options {
  const checked = checkOptions(options, names)
  return Object.fromEntries(
    Object.keys(names).map((name) => [name, checked[name as keyof Options]]),
  ) as Options
}
