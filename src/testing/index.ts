export { createPayload, type PayloadDetails } from './payloads.ts'
export { createSigner, type SignedRequest, type Signer, type SignerOptions } from './signer.ts'
