import type { StoredDelivery } from '../../receiver/delivery.ts'
import { type Envelope, fromEnvelope } from '../stored.ts'

/** The id of a delivery, from that of its job, which PostgreSQL gives with hyphens. */
export const toId = (uuid: string): string => uuid.replaceAll('-', '')

/** What there is of a delivery that cannot be read. */
export const NOTHING: Omit<StoredDelivery, 'id' | 'receivedAt'> = {
  rawBody: new Uint8Array(),
  contentType: '',
  headers: {},
  profile: '',
}

/** The delivery of a job; nothing where its data is not what an inbox has put there. */
export function readDelivery(id: string, data: unknown): StoredDelivery | undefined {
  const envelope = data as Partial<Envelope> | null
  if (typeof envelope?.body !== 'string' || typeof envelope.receivedAt !== 'number') return undefined
  try {
    return fromEnvelope({ ...(envelope as Envelope), id })
  } catch {
    return undefined
  }
}

export function readChangeTypes(text: string | null): string[] {
  try {
    const types: unknown = JSON.parse(text ?? '')
    return Array.isArray(types) ? types.filter((type) => typeof type === 'string') : []
  } catch {
    return []
  }
}

export function readNumberOr(text: string | null, other: number): number {
  const number = Number(text ?? Number.NaN)
  return Number.isFinite(number) ? number : other
}
