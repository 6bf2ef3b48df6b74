import type { Webhook } from '../state/webhook.ts'

/** What is remembered of a delivery besides its attempts: its webhook may be edited or deleted later. */
export interface DeliveryRecord {
  /** The webhook as it was when the delivery was sent. Contains its key. */
  readonly webhook: Readonly<Webhook>
  /** The body before it was signed, and before a fault changed it. */
  readonly payload: Uint8Array
  /** Content type of the payload. */
  readonly contentType: string
}

/** The records of the thousand deliveries with the latest attempts. They include every delivery in the attempt log. */
export interface DeliveryRecords {
  get(deliveryId: string): DeliveryRecord | undefined
  list(): DeliveryRecord[]
  /** Called when an attempt of the delivery begins. */
  put(deliveryId: string, record: DeliveryRecord): void
}

/** The attempt log has as many attempts, so it cannot have more deliveries. */
const MAX_RECORDS = 1000

export function createDeliveryRecords(): DeliveryRecords {
  const records = new Map<string, DeliveryRecord>()
  return {
    get: (deliveryId) => records.get(deliveryId),
    list: () => [...records.values()],
    put(deliveryId, record) {
      records.delete(deliveryId)
      records.set(deliveryId, record)
      const [oldest] = records.keys()
      if (records.size > MAX_RECORDS && oldest !== undefined) records.delete(oldest)
    },
  }
}
