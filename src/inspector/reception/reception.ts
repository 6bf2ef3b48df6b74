import { blameCaller } from '../../errors.ts'
import { createLog, createNotifier, type Seen } from '../../receiver/observer.ts'
import type { Observer } from '../../receiver/types.ts'
import { createRedactor } from '../../shared/redact.ts'
import { type Inspectable, SOURCE } from '../source.ts'
import { type ReceptionOptions, readReceptionOptions } from './options.ts'
import { fromObserver, fromProgram, type ReceivedRequest, RequestStore, type SeenRequest } from './record.ts'
import { createReceptionSource } from './source.ts'

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
  const store = new RequestStore(resolved)
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
    clear: () => store.clear(),
    [SOURCE]: () => createReceptionSource(store, resolved, redactor),
  }
}

/** At its end, each request calls exactly one of these functions. */
const ENDS = ['handled', 'unhandled', 'duplicate', 'handshake', 'refused', 'failed'] as const

/**
 * Creates an observer that records ended requests, and passes everything on to the user's observer. Refusals and
 * failures without a matching function of that observer go to the log of the receiver, as without a reception.
 *
 * @throws {WebhookError} `config_invalid` for an invalid observer
 */
function createRecordingObserver(
  { observer: own }: Pick<ReceptionOptions, 'observer'>,
  clock: () => number,
  record: (seen: SeenRequest) => void,
): Observer {
  const log = createLog(clock)
  const { notify } = createNotifier(own, {
    ...log,
    refused(seen) {
      // The receiver logs this code itself, whatever its observer does.
      if (seen.error.code !== 'body_already_parsed') log.refused?.(seen)
    },
  })
  const observer: Observer = Object.fromEntries(
    ENDS.map((name) => [
      name,
      (seen: SeenRequest) => {
        try {
          record(seen)
        } finally {
          notify(name, seen as Seen)
        }
      },
    ]),
  )
  if (own?.around) observer.around = (seen) => own.around?.(seen)
  if (own?.accepted) observer.accepted = (seen) => own.accepted?.(seen)
  return observer
}
