import { randomUUID } from 'node:crypto'
import type { RawRequest } from '../../testing/signer.ts'
import type { Attempt, AttemptLog } from './attempt-log.ts'
import type { DeliveryRecord, DeliveryRecords } from './delivery-records.ts'
import { toTarget } from './http-client.ts'
import type { Retries } from './retries.ts'

/** Sends requests at the wish of a user. Each is one attempt, even if the webhook was changed or deactivated. */
export interface Resends {
  /** Sends a recorded attempt again, byte for byte. */
  redeliver(attempt: Attempt): Promise<Attempt>
  /**
   * Sends a request once, as a delivery of its own: it is neither retried nor counted as a failure, and gets no fault.
   *
   * @param request without the headers `host` and `content-length`
   */
  sendOnce(record: DeliveryRecord, hookUrl: string, request: RawRequest): Promise<Attempt>
}

/** Options of {@link createResends}. */
export interface ResendsOptions {
  log: AttemptLog
  records: DeliveryRecords
  allowHosts: readonly string[]
  retries: Retries
}

export function createResends({ log, records, allowHosts, retries }: ResendsOptions): Resends {
  /** The number for a new attempt of the same delivery: one more than the highest number in the log. */
  const nextNumber = ({ deliveryId, number }: Attempt): number =>
    log
      .list()
      .filter((attempt) => attempt.deliveryId === deliveryId)
      .reduce((highest, attempt) => Math.max(highest, attempt.number), number) + 1

  return {
    redeliver(attempt) {
      const { deliveryId: id, webhookId, hookUrl, request } = attempt
      const { host: _host, 'content-length': _length, ...headers } = request.headers
      const target = toTarget(hookUrl, allowHosts)
      const delivery = { id, webhookId, target, request: { ...request, headers }, fault: undefined }
      return retries.resend({ ...delivery, record: records.get(id) }, () => nextNumber(attempt))
    },
    sendOnce(record, hookUrl, request) {
      const { id: webhookId } = record.webhook
      const target = toTarget(hookUrl, allowHosts)
      return retries.resend(
        { id: randomUUID(), webhookId, target, request, fault: undefined, record },
        () => 1,
      )
    },
  }
}
