import type { WebhookEvent } from '../payload/events.ts'
import type {
  AttemptContext,
  HandleResult,
  HandlerOptions,
  Outcome,
  Receiver,
  ReceiverRequest,
  StoredDelivery,
} from './types.ts'

/**
 * The member of a receiver that adapters, inboxes and tools use, and that its type hides from applications. The symbol
 * is registered, so that a receiver of the ES build works with an adapter or inbox of the CommonJS build.
 */
export const RECEIVER_PORT: unique symbol = /* @__PURE__ */ Symbol.for('geohook.receiver')

/** The methods of a receiver for adapters, inboxes and tools. */
export interface ReceiverPort {
  /**
   * Processes one request, from verification to handlers. No request can make the returned promise reject.
   *
   * @param respond writes the response; `close()` waits for it
   */
  receive(request: ReceiverRequest, respond?: (outcome: Outcome) => unknown): Promise<Outcome>
  /** The change types with a handler, as passed to `on`. */
  changeTypes(): string[]
  /** The handlers with each name, and those without a name under the empty one. */
  readonly fates: ReadonlyMap<string, HandlerFate>
  /**
   * Decodes several stored deliveries and runs the handlers once for all of them. Each handler gets one event for each
   * feature service: the newest of the events, with a `changesUrl` that covers all of them. Events without a
   * `changesUrl` are passed one by one.
   *
   * @param stored at least one delivery
   * @returns one result for each delivery, as `Receiver.handle` returns it
   * @throws {WebhookError} like `Receiver.handle`
   * @throws what the failed handler threw, or an `AggregateError` if several handlers failed
   */
  handleTogether(stored: readonly StoredDelivery[], context?: GroupContext): Promise<HandleResult[]>
}

/** What a receiver handles under one name. */
export interface HandlerFate extends Omit<HandlerOptions, 'name'> {
  /** The change types with a handler, as passed to `on`. */
  readonly changeTypes: Set<string>
}

/** One attempt to handle several deliveries. */
export interface GroupContext extends Omit<AttemptContext, 'token'> {
  /** Runs only the handlers with this name. */
  handler?: string | undefined
  /** The fencing token of each delivery. */
  tokens?: readonly number[] | undefined
}

/**
 * The member of `onSuccess` in a handler's context that `geohook/changes` uses: the attempt, which all contexts of the
 * attempt share.
 */
export const ATTEMPT_PORT: unique symbol = /* @__PURE__ */ Symbol.for('geohook.attempt')

/** An attempt to handle one or several deliveries. */
export interface AttemptPort {
  /** Key of the handler that runs at the moment. Its calls of `on` have the same keys in every process. */
  readonly handler: string | undefined
  /** True if that handler gets all edits, and has another fate than others: what they have handled is no sign that it has. */
  readonly isSeparate: boolean
  /** As in the context of the attempt. */
  readonly rerun: true | undefined
  /** Runs a function after all functions of `onSuccess`. */
  afterSuccess(run: () => unknown): void
  /** Calls a function when the attempt has ended or is aborted. */
  onEnd(run: () => void): void
}

/** The member of an attempt's context that workers of an inbox add: a function that runs before the handlers. */
export const ENTER: unique symbol = /* @__PURE__ */ Symbol.for('geohook.enter')

export type EnterAttempt = (
  attempt: AttemptPort,
  events: readonly WebhookEvent[],
  signal: AbortSignal,
) => Promise<void>

/** Returns the attempt of a function `onSuccess`; `undefined` for a function of an application. */
export function attemptPort(onSuccess: unknown): AttemptPort | undefined {
  return (onSuccess as { [ATTEMPT_PORT]?: AttemptPort } | undefined)?.[ATTEMPT_PORT]
}

/** Returns the port of a receiver; `undefined` for anything else. */
export function receiverPort(receiver: Receiver): ReceiverPort
export function receiverPort(receiver: unknown): ReceiverPort | undefined
export function receiverPort(receiver: unknown): ReceiverPort | undefined {
  return (receiver as { [RECEIVER_PORT]?: ReceiverPort } | null | undefined)?.[RECEIVER_PORT]
}

export { keyringPort } from '../signature/keyring.ts'
