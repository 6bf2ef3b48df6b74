import { isSync } from '#runtime'

/** Largest body, in bytes, that gets the expensive hypotheses too. */
export const MAX_BODY: number = 64 * 1024

/**
 * The same with `thorough`, and the factor by which it multiplies {@link MAX_WORK}. A hostile body of this size takes up
 * to ten seconds and 0.5 GB.
 */
const MAX_THOROUGH_BODY = 1024 * 1024
const THOROUGH = 64

/**
 * Work of one diagnosis in nanoseconds, as measured with Node.js on a processor with SHA instructions. WebCrypto takes
 * ten times as long for a small message, so it gets more work, but not enough for all pairs of mistakes.
 */
const MAX_WORK = isSync ? 32_000_000 : 120_000_000

/** Nanoseconds for a candidate with an empty message. */
const PER_CANDIDATE = isSync ? 4500 : 45_000

const PER_BYTE = 0.6

/** How many times a large body may be hashed, even if that exceeds {@link MAX_WORK}. */
const MAX_HASHES = 100

/** Work after which the event loop gets a turn, so that a server can respond to other requests. */
const SLICE = 4_000_000

/** Calls back in a later turn of the event loop. Node's setTimeout would wait for at least a millisecond. */
const nextTurn = (resolve: () => void): void => {
  const { setImmediate = setTimeout } = globalThis as { setImmediate?: (callback: () => void) => void }
  setImmediate(resolve)
}

/** The limit on the work of one diagnosis. It counts bytes, not time, so that the result is always the same. */
export class Work {
  /** True if the expensive hypotheses may be tested too, because the body is small enough. */
  readonly isComplete: boolean
  readonly #isThorough: boolean
  #left: number
  #slice = SLICE

  constructor(bodySize: number, isThorough: boolean) {
    this.isComplete = bodySize <= (isThorough ? MAX_THOROUGH_BODY : MAX_BODY)
    this.#isThorough = isThorough
    this.#left = Math.max(MAX_WORK * (isThorough ? THOROUGH : 1), MAX_HASHES * PER_BYTE * bodySize)
  }

  /** Why the search ended early, as a sentence. Undefined if it did not. */
  get omission(): string | undefined {
    if (this.isComplete && this.#left >= 0) return undefined
    const size = this.#isThorough ? '1 MiB' : `${MAX_BODY / 1024} KiB`
    const reason = this.isComplete
      ? 'Not all hypotheses were tested, because the limit on the work was reached.'
      : `Only the cheap hypotheses were tested, because the body is larger than ${size}.`
    return this.#isThorough ? reason : `${reason} The option thorough tests more.`
  }

  /** Counts a message to make, with nanoseconds for each byte, and to hash. Returns false if the limit is reached. */
  spend(messageSize: number, keySize: number, perByte: number): boolean {
    // Large texts take longer to make, because the garbage of their parts has to be collected.
    const making = messageSize > MAX_BODY ? 4 * perByte : perByte
    const cost = PER_CANDIDATE + messageSize * (PER_BYTE + making) + keySize * PER_BYTE
    this.#left -= cost
    this.#slice -= cost
    return this.#left >= 0
  }

  /** Resolves at once, or after other events if much work was done since the last call. */
  pause(): Promise<void> | undefined {
    if (this.#slice > 0) return undefined
    this.#slice = SLICE
    return new Promise(nextTurn)
  }
}
