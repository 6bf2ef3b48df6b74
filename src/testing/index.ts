export type { ChangesUrlEncoding, Dialect, PayloadDetails, PayloadEvents } from './payloads.ts'
export { createPayload } from './payloads.ts'
export { createSigner, type SignedRequest, type Signer, type SignerOptions } from './signer.ts'
