export { createPayload, type Payloads } from './create-payload.ts'
export type {
  ChangesUrlEncoding,
  Dialect,
  PayloadDetails,
  PayloadEvent,
  PayloadEvents,
} from './payloads/details.ts'
export { createSigner, type SignedRequest, type Signer, type SignerOptions } from './signer.ts'
