import type { SignerOptions } from '../../testing/signer.ts'

/** How the service signs (specification, "Payload signature verification"; what it leaves open is chosen here). */
export type SignatureOptions = Pick<
  SignerOptions,
  'signatureHeader' | 'encoding' | 'prefix' | 'signatureIn' | 'percentEncoded' | 'formPayload'
>
