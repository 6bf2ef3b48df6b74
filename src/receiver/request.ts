import type { Delivery } from './delivery.ts'
import type { HeaderBag } from './headers.ts'
import type { NextResult } from './next-handler.ts'

/** A request without its body. */
export interface RequestHead {
  readonly method: string
  /** Path and query as received, or the whole URL if the platform provides it. */
  readonly url: string
  readonly headers: HeaderBag
  /** Route parameters, if the framework has them. */
  readonly params?: Readonly<Record<string, string | string[] | undefined>> | undefined
  /**
   * The IP address of the peer: the sender or, behind a proxy, the proxy. Never taken from a header. Undefined if the
   * platform does not know it.
   */
  readonly remoteAddress?: string | undefined
}

/** Options of {@link ReceiverRequest.read}. */
export interface ReadOptions {
  /** Maximum body size in bytes. A larger body causes `body_too_large`. */
  limit: number
  /** Counts the bytes of a chunk. Call it with each chunk as it arrives, in order. */
  onChunk(chunk: Uint8Array): void
  /**
   * Hashes the next part of the body before the rest arrives, so that less work remains at the end. Calls are optional.
   * Pass large parts only, from the start of the body and without gaps.
   */
  hash?(part: Uint8Array): void
}

/**
 * A request in the form that adapters pass to the receiver. The adapter then writes the {@link Outcome} as the
 * response, unchanged.
 */
export interface ReceiverRequest extends RequestHead {
  /**
   * Reads the exact bytes of the body. May return them synchronously if all of them have arrived.
   *
   * @throws {WebhookError} `body_too_large`, `body_aborted`, `body_already_parsed`
   */
  read(options: ReadOptions): Uint8Array | Promise<Uint8Array>
  /**
   * Cancels the rest of the body. Called once, before the response is written, if the body was not read completely. May
   * return a promise, for which the response waits. If the end of the body has not arrived by then, the response must
   * close the connection, so that no proxy sends another delivery on it.
   *
   * @param limit maximum number of bytes to read and discard. Discarding lets the sender finish and read the response
   */
  cancel?(limit: number): void
  /**
   * Passes a verified delivery to the framework's next handler. Called only if the receiver has neither handlers nor an
   * inbox. Rejects if the handler has failed without a response.
   */
  next?: ((delivery: Delivery) => Promise<NextResult>) | undefined
}
