import { blameCaller } from '../../errors.ts'
import { createLog } from '../../receiver/log.ts'
import { createNotifier, type Seen } from '../../receiver/observer.ts'
import type { Observer, ReceiverOptions } from '../../receiver/types.ts'
import { createRedactor, type Redactor } from '../../shared/redact.ts'
import { type Inspectable, SOURCE } from '../source.ts'
import { type RequestLogOptions, readRequestLogOptions } from './options.ts'
import { fromObserver, fromProgram, type ReceivedRequest, RequestStore, type SeenRequest } from './record.ts'
import { createRequestLogSource } from './source.ts'

/** The requests that a receiver has received, in memory, for `createInspector`. */
export interface RequestLog extends Inspectable {
  /**
   * The observer for the receiver. It records each request at its end, and passes everything on to `options.observer`.
   * Refusals and failures without a matching function of that observer become process warnings, as they would without a
   * request log.
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
 * Creates a request log, which records the requests of a receiver for `createInspector`: the newest 1,000, with 64 MiB of
 * bodies, URLs and headers. Recording copies and decodes nothing; a refusal is explained only when a page shows it.
 *
 * @param receiver the options that the receiver has
 * @throws {WebhookError} `config_invalid` for an invalid option
 * @example
 * ```ts
 * import { createReceiver } from 'geohook'
 * import { createRequestLog, createInspector } from 'geohook/inspector'
 *
 * const options = { signatureKey: 'parcels2026' }
 * const requestLog = createRequestLog(options)
 * const receiver = createReceiver({ ...options, observer: requestLog.observer }).on('FeaturesCreated', () => {})
 * const page = createInspector(requestLog)
 * ```
 */
export function createRequestLog(
  receiver: Partial<ReceiverOptions>,
  options: RequestLogOptions = {},
): RequestLog {
  const resolved = blameCaller(createRequestLog, () => readRequestLogOptions(receiver, options))
  const { clock } = resolved
  const store = new RequestStore(resolved)
  // Also hides keys that have left a keyring, because recorded requests may contain them.
  const known = new Set(resolved.keys())
  let current = createRedactor([...known], resolved)
  function currentRedactor(): Redactor {
    const { size } = known
    for (const key of resolved.keys()) known.add(key)
    if (known.size > size) current = createRedactor([...known], resolved)
    return current
  }
  const redactor: Redactor = {
    text: (text, limit) => currentRedactor().text(text, limit),
    headers: (headers) => currentRedactor().headers(headers),
  }
  const observer = blameCaller(createRequestLog, () =>
    createRecordingObserver(resolved.receiver, clock, (seen) =>
      store.add(fromObserver(seen, clock(), currentRedactor())),
    ),
  )
  return {
    observer,
    get size() {
      return store.size
    },
    add: (request) => store.add(fromProgram(request, currentRedactor())),
    clear: () => store.clear(),
    [SOURCE]: () => createRequestLogSource(store, resolved, redactor),
  }
}

/** At its end, each request calls exactly one of these functions. */
const ENDS = ['handled', 'unhandled', 'duplicate', 'handshake', 'refused', 'failed'] as const

/**
 * Creates an observer that records ended requests, and passes everything on to the user's observer. Refusals and
 * failures without a matching function of that observer go to the log of the receiver, as without a request log.
 *
 * @throws {WebhookError} `config_invalid` for an invalid observer
 */
function createRecordingObserver(
  { observer: own }: Pick<ReceiverOptions, 'observer'>,
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
