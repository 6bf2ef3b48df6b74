import type { ErrorCode } from '../errors.ts'
import type { ReturnedKeys, SignatureKeys } from '../signature/keyring.ts'
import type { Profile, ProfileName, SecretProfile } from '../signature/profiles.ts'
import type { SignatureEncoding } from '../signature/signature.ts'
import type { GivenRequest, Head } from './request.ts'

/** What to explain: a request and options of the receiver. Other options are passed on to the receiver as they are. */
export interface Question extends GivenRequest {
  body: Uint8Array | undefined
  signatureKey?: SignatureKeys | KeyFunction | null | undefined
  signatureHeader?: string | undefined
  profile?: ProfileName | Profile | SecretProfile | undefined
  encoding?: SignatureEncoding | undefined
  unsigned?: 'reject' | 'accept' | undefined
  maxAge?: number | undefined
  schema?: object | undefined
  clock?: (() => number) | undefined
  code?: ErrorCode | undefined
  thorough?: boolean | undefined
}

/** Returns the keys for one request. */
export type KeyFunction = (request: Head) => ReturnedKeys | Promise<ReturnedKeys>
