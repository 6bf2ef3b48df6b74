import { createRedactor, type Redactor } from '../../inspector/redact.ts'
import type { DeliveryRecord } from '../delivery/delivery-records.ts'
import type { Mock } from '../service.ts'
import { signatureNameOf } from './signed.ts'

/** Hides the keys of all webhooks, and that of a delivery, whose webhook may have been edited or deleted. */
export const redactAll = (mock: Mock, record?: DeliveryRecord): Redactor =>
  createRedactor(
    [
      record?.webhook.signatureKey ?? '',
      ...mock.state.webhooks.list().map(({ signatureKey }) => signatureKey),
    ],
    signatureNameOf(mock),
  )

/** Hides only the keys of a delivery. For lists: with thousands of webhooks, hiding all keys would be slow. */
export const redactOwn = ({ state }: Mock, record?: DeliveryRecord): Redactor =>
  createRedactor([
    record?.webhook.signatureKey ?? '',
    state.webhooks.get(record?.webhook.id ?? '')?.signatureKey ?? '',
  ])
