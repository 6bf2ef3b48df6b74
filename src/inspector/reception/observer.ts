import { createLog, createNotifier, type Seen } from '../../receiver/observer.ts'
import type { Observer } from '../../receiver/types.ts'
import type { ReceptionOptions } from './options.ts'
import type { SeenRequest } from './record.ts'

/** At its end, each request calls exactly one of these functions. */
const ENDS = ['handled', 'unhandled', 'duplicate', 'handshake', 'refused', 'failed'] as const

/**
 * Creates an observer that records ended requests, and passes everything on to the user's observer. Refusals and
 * failures without a matching function of that observer go to the log of the receiver, as without a reception.
 *
 * @throws {WebhookError} `config_invalid` for an invalid observer
 */
export function createRecordingObserver(
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
