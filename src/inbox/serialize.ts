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

/** Restores a delivery from the output of {@link toHead}. */
export function fromHead(head: string, id: string, rawBody: Uint8Array, receivedAt: number): StoredDelivery {
  const { contentType, headers, profile, ...optional } = JSON.parse(head) as StoredDelivery
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

/** A delivery as one JSON object, for stores that accept JSON. `body` is base64. */
export interface Envelope {
  id: string
  changeTypes: readonly string[]
  size: number
  receivedAt: number
  head: string
  body: string
}

export function toEnvelope(delivery: Delivery): Envelope {
  const { id, changeTypes, rawBody, receivedAt } = delivery
  return {
    id,
    changeTypes,
    size: rawBody.length,
    receivedAt: receivedAt.getTime(),
    head: toHead(delivery),
    body: Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength).toString('base64'),
  }
}

export function fromEnvelope({ id, head, body, receivedAt }: Envelope): StoredDelivery {
  return fromHead(head, id, new Uint8Array(Buffer.from(body, 'base64')), receivedAt)
}
