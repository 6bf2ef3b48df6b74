import type { SignatureEncoding } from '../signature/encoding.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/signature-header.ts'

/** Receiver options for one kind of sender. To create your own profile, copy an existing one and change its members. */
export interface Profile {
  readonly name: string
  /** The header (or form field) with the signature; case-insensitive. */
  readonly signatureHeader: string
  readonly encoding?: SignatureEncoding
  /** Set if the sender regularly sends a GET request for the signature of a token (docs/senders.md, "Handshake"). */
  readonly handshake?: {
    /** The query parameter that contains the token. */
    readonly parameter: string
    /** The JSON member of the response that contains the signature: `sha256=` followed by base64. */
    readonly member: string
  }
}

/**
 * The default profile: the service that docs/specification.md describes, with the signature in `x-service` and no
 * handshake.
 */
export const service: Profile = { name: 'service', signatureHeader: DEFAULT_SIGNATURE_HEADER }

/** ArcGIS Enterprise 11.2 and later, and ArcGIS Online with its handshake. */
export const arcgis: Profile = {
  name: 'arcgis',
  signatureHeader: 'x-esriHook-Signature',
  handshake: { parameter: 'crc_token', member: 'response_token' },
}
