import { createHmac } from 'node:crypto'
import type { ErrorCode } from 'geohook'
import type { Sent } from '../../helpers/http.ts'
import { signatureKey } from '../setups.ts'
import type { Start } from '../subject.ts'

/** One receiver behaviour, which must be the same in every framework and runtime. */
export interface ContractCase {
  /** The test title: a statement whose subject is the receiver. */
  name: string
  /** The error codes that this case covers. */
  codes?: readonly ErrorCode[]
  run(start: Start): Promise<void>
}

export const JSON_TYPE = 'application/json'
export const BODY =
  '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'

export const signatureOf = (body: Uint8Array | string, key = signatureKey): string =>
  createHmac('sha256', key).update(body).digest('hex')

/** Creates a request with a valid signature. */
export const signed = (body: Uint8Array | string, headers: Sent['headers'] = {}): Sent => ({
  headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body), ...headers },
  body,
})
