import { blameCaller } from '../../errors.ts'
import type { Observer } from '../../receiver/types.ts'
import { createRedactor } from '../../shared/redact.ts'
import { type Inspectable, SOURCE } from '../source.ts'
import { createRecordingObserver } from './observer.ts'
import { type ReceptionOptions, readReceptionOptions } from './options.ts'
import { createReceptionSource } from './reception-source.ts'
import { fromObserver, fromProgram, type ReceivedRequest } from './record.ts'
import { createRequestStore } from './store.ts'

/** The requests that a receiver has received, in memory, for `inspector`. */
export interface Reception extends Inspectable {
  /**
   * The observer for the receiver. It records each request at its end, and passes everything on to `options.observer`.
   * Refusals and failures without a matching function of that observer become process warnings, as they would without a
   * reception.
   */
  readonly observer: Observer
  /** Number of recorded requests. */
  readonly size: number
  /** Records a request that the observer has not seen. `geohook listen` records what it has forwarded this way. */
  add(request: ReceivedRequest): void
  /** Forgets all recorded requests. */
  clear(): void
}

/**
 * Creates a reception, which records the requests of a receiver for `inspector`: the newest 1,000, with 64 MiB of
 * bodies, URLs and headers. Recording copies and decodes nothing; a refusal is explained only when a page shows it.
 *
 * @param options the options that the receiver has, and those of the reception
 * @throws {WebhookError} `config_invalid` for an invalid option
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createReception, inspector } from 'geohook/inspector'
 *
 * const options = { signatureKey: 'parcels2026' }
 * const reception = createReception(options)
 * const receiver = createReceiver({ ...options, observer: reception.observer }).on('FeaturesCreated', () => {})
 * const page = inspector(reception)
 * ```
 */
export function createReception(options: ReceptionOptions): Reception {
  const resolved = blameCaller(createReception, () => readReceptionOptions(options))
  const { clock } = resolved
  const store = createRequestStore(resolved)
  const redactor = createRedactor(resolved.keys, resolved)
  const observer = blameCaller(createReception, () =>
    createRecordingObserver(resolved.receiver, clock, (seen) =>
      store.add(fromObserver(seen, clock(), redactor)),
    ),
  )
  return {
    observer,
    get size() {
      return store.size
    },
    add: (request) => store.add(fromProgram(request, redactor)),
    clear: store.clear,
    [SOURCE]: () => createReceptionSource(store, resolved, redactor),
  }
}
