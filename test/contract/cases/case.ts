import { createHmac } from 'node:crypto'
import type { ErrorCode } from 'geohook'
import type { Sent } from '../../helpers/http.ts'
import { signatureKey } from '../setups.ts'
import type { Start } from '../subject.ts'

/** One thing that a receiver does alike wherever it is mounted. */
export interface ContractCase {
  /** A sentence after "it". */
  name: string
  /** The codes whose answer and place in the observer this case shows. */
  codes?: readonly ErrorCode[]
  run(start: Start): Promise<void>
}

export const JSON_TYPE = 'application/json'
export const BODY =
  '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'

export const signatureOf = (body: Uint8Array | string, key = signatureKey): string =>
  createHmac('sha256', key).update(body).digest('hex')

/** A request with the right signature. */
export const signed = (body: Uint8Array | string, headers: Sent['headers'] = {}): Sent => ({
  headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers },
  body,
})
