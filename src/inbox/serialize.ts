import type { Delivery, StoredDelivery } from '../receiver/types.ts'

/** Copies the members of a delivery that inboxes store. Later changes to the original do not affect the copy. */
export function copyDelivery(delivery: Delivery | StoredDelivery): StoredDelivery {
  const { id, rawBody, contentType, headers, receivedAt, profile, keyIndex, tenant } = delivery
  return {
    id,
    rawBody: rawBody.slice(),
    contentType,
    headers: { ...headers },
    receivedAt: new Date(receivedAt),
    profile,
    ...(keyIndex !== undefined && { keyIndex }),
    ...(tenant !== undefined && { tenant }),
  }
}

/** Serializes a delivery as JSON, without its body, id and time of receipt. */
export function toHead(delivery: StoredDelivery): string {
  const { contentType, headers, profile, keyIndex, tenant } = delivery
  return JSON.stringify({ contentType, headers, profile, keyIndex, tenant })
}

/**
 * Restores a delivery from the output of {@link toHead}.
 *
 * @throws if the head is damaged
 */
export function fromHead(head: string, id: string, rawBody: Uint8Array, receivedAt: number): StoredDelivery {
  const { contentType, headers, profile, ...optional } = JSON.parse(head) as StoredDelivery
  if (typeof contentType !== 'string' || !headers || typeof headers !== 'object')
    throw new Error('its content type or its headers are missing')
  return copyDelivery({
    ...optional,
    id,
    rawBody,
    contentType,
    headers,
    receivedAt: new Date(receivedAt),
    profile,
  })
}
