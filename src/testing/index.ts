export type {
  ChangesUrlEncoding,
  Dialect,
  PayloadDetails,
  PayloadEvent,
  PayloadEvents,
} from './payloads.ts'
export { createPayload, type Payloads } from './payloads.ts'
export { createSigner, type SignedRequest, type Signer, type SignerOptions } from './signer.ts'
