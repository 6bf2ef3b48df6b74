import { type ProfileMembers, requireUnsigned } from '../signature/profiles.ts'
import { DEFAULT_SIGNATURE_HEADER, requireHeaderName } from '../signature/signature-header.ts'
import { printable, warn } from './log.ts'

/** The headers in which the receiver looks for a proof, in lower case. */
export interface ProofHeaders {
  signatureHeader: string
  /** The header that contains the key itself, if the sender does not sign. */
  secretHeader: string | undefined
}

/**
 * Returns where the senders put their proof: a signature, or the key itself.
 *
 * @throws {WebhookError} `config_invalid` for an invalid name, and for options that say how a body is signed if the
 *   profile says that it is not
 */
export function readProofHeaders(
  options: { signatureHeader?: string | undefined; encoding?: unknown },
  profile: ProfileMembers,
): ProofHeaders {
  if (profile.secretHeader === undefined) {
    const name = options.signatureHeader ?? (profile.signatureHeader as string)
    return { signatureHeader: requireHeaderName(name).toLowerCase(), secretHeader: undefined }
  }
  const { signatureHeader, encoding } = options
  requireUnsigned({ signatureHeader, encoding })
  return { signatureHeader: DEFAULT_SIGNATURE_HEADER, secretHeader: profile.secretHeader.toLowerCase() }
}

/** Warns about a receiver whose bodies no signature protects. */
export function warnOfUnsigned({
  acceptUnsigned,
  secretHeader,
  profile,
}: Pick<ProofHeaders, 'secretHeader'> & { acceptUnsigned: boolean; profile: { name: string } }): void {
  if (acceptUnsigned)
    warn("unsigned is 'accept', so anyone can send deliveries to this receiver.", 'unsigned_accepted')
  else if (secretHeader !== undefined)
    warn(
      `The senders of the profile ${printable(profile.name)} do not sign the body: anyone who sees the header ` +
        `${secretHeader} of one request can send deliveries to this receiver. Use HTTPS.`,
      'body_unsigned',
    )
}
