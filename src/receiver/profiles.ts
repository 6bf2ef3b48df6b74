import type { SignatureEncoding } from '../signature/encoding.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/signature-header.ts'

/** Receiver options for one kind of sender, as a plain object: copy and change one to create your own. */
export interface Profile {
  readonly name: string
  /** The header (or form field) with the signature; case-insensitive. */
  readonly signatureHeader: string
  readonly encoding?: SignatureEncoding
  /** Set if the sender regularly requests the signature of a token with GET (docs/senders.md, "Handshake"). */
  readonly handshake?: {
    /** The query parameter that contains the token. */
    readonly parameter: string
    /** The JSON member of the response that contains the signature: `sha256=` followed by base64. */
    readonly member: string
  }
}

/** The service of docs/specification.md: signature in `x-service`, no handshake. The default. */
export const service: Profile = { name: 'service', signatureHeader: DEFAULT_SIGNATURE_HEADER }

/** ArcGIS Enterprise 11.2 and later, and ArcGIS Online with its handshake. */
export const arcgis: Profile = {
  name: 'arcgis',
  signatureHeader: 'x-esriHook-Signature',
  handshake: { parameter: 'crc_token', member: 'response_token' },
}
