import { createHmac } from 'node:crypto'
import type { Receiver } from 'geohook'

export const KEY = 'parcels2026'
export const JSON_TYPE = 'application/json'
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Returns the signature in hex, computed with Node instead of the package under test. */
export const signatureOf = (body: Uint8Array | string, key: string | Uint8Array = KEY): string =>
  createHmac('sha256', key).update(body).digest('hex')

export const base64Of = (body: Uint8Array | string, key: string | Uint8Array = KEY): string =>
  createHmac('sha256', key).update(body).digest('base64')

/** Returns a payload of the service dialect with one event per change type. */
export const payloadOf = (...changeTypes: string[]): string =>
  JSON.stringify({
    serviceName: 'Parcels',
    events: changeTypes.map((eventType) => ({ eventType, when: 1730385704000 })),
  })

/** Posts a body to `receiver.fetch`, signed with `KEY` unless `headers` override the signature. */
export async function deliver(
  receiver: Pick<Receiver, 'fetch'>,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
  const signed = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers }
  const response = await receiver.fetch(
    new Request('http://receiver.example/hook', { method: 'POST', headers: signed, body }),
  )
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}
