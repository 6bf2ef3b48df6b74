import type { Awaitable } from '../signature/awaitable.ts'
import type { Delivery } from './delivery.ts'
import type { HeaderBag } from './headers.ts'

/** What is known of a request before its body is read. */
export interface RequestHead {
  readonly method: string
  /** Path and query as received, or the whole URL where the platform gives it. */
  readonly url: string
  readonly headers: HeaderBag
  /** Route parameters, where the framework has them. */
  readonly params?: Readonly<Record<string, string | string[] | undefined>> | undefined
}

/** How {@link ReceiverRequest.read} is to read. */
export interface ReadOptions {
  /** Bytes; one more, and the reading ends with `body_too_large`. */
  limit: number
  /** Called with each piece as it arrives, in order. */
  onChunk(chunk: Uint8Array): void
}

/** The port between the receiver and a framework. An adapter fills it and writes the {@link Outcome}; it decides nothing. */
export interface ReceiverRequest extends RequestHead {
  /**
   * Reads the exact bytes of the body; at once where all of them are there.
   *
   * @throws {WebhookError} `body_too_large`, `body_aborted`, `body_already_parsed`
   */
  read(options: ReadOptions): Awaitable<Uint8Array>
  /**
   * Called once for a request that is answered without its whole body, before the answer is written.
   *
   * @param limit bytes that the sender may still send, so that it gets to read the answer
   */
  cancel?(limit: number): void
  /**
   * Passes a verified delivery on to whatever the framework runs next, and resolves with the status of that answer;
   * with none where nothing but the framework's own for a success was said.
   * It is used by a receiver that has neither handlers nor an inbox of its own.
   */
  next?: ((delivery: Delivery) => Promise<number | undefined>) | undefined
}
