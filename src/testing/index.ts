export type { Dialect } from '../shared/senders.ts'
export type { ChangesUrlEncoding, PayloadDetails, PayloadEvents } from './payloads.ts'
export { createPayload } from './payloads.ts'
export { createSigner, type SignedRequest, type Signer, type SignerOptions } from './signer.ts'
