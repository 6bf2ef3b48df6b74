import { Option } from 'commander'
import {
  arcgis,
  type Profile,
  type ProfileName,
  portal,
  type SecretProfile,
  type SignatureEncoding,
  service,
} from '../../index.ts'
import { usageError } from '../errors.ts'

export type { ProfileName }

/** The profiles that `--profile` can name. */
const PROFILES: Readonly<Record<ProfileName, Profile | SecretProfile>> = { service, arcgis, portal }

/** Creates `--profile`, for commands that receive or check deliveries. */
export const profileOption = (): Option =>
  new Option(
    '--profile <name>',
    'kind of sender: service signs in x-service, arcgis in x-esriHook-Signature; portal sends its key in the header secret, and signs nothing',
  )
    .choices(Object.keys(PROFILES))
    .default('service')

/** Creates `--encoding` for commands that write signatures. */
export const writtenEncodingOption = (): Option =>
  new Option('--encoding <name>', 'encoding of the signature').choices(['hex', 'base64']).default('hex')

/** Creates `--encoding` for commands that read signatures. */
export const acceptedEncodingOption = (description: string): Option =>
  new Option('--encoding <name>', description).choices(['auto', 'hex', 'base64']).default('auto')

/** Values of the options that say how a sender proves who it is. */
export interface ProofOptions {
  profile: ProfileName
  signatureHeader?: string | undefined
  encoding: SignatureEncoding
}

/** The receiver options that these options mean. */
export type ReceiverProof =
  | { profile: Profile; signatureHeader: string; encoding: SignatureEncoding }
  | { profile: SecretProfile }

/** @throws {CliError} exit code 2 for options about a signature with a profile whose senders do not sign */
export function toReceiverProof({ profile: name, signatureHeader, encoding }: ProofOptions): ReceiverProof {
  const profile = PROFILES[name]
  if (!('secretHeader' in profile))
    return { profile, signatureHeader: signatureHeader ?? profile.signatureHeader, encoding }
  const option = signatureHeader === undefined ? 'encoding' : 'signature-header'
  if (signatureHeader !== undefined || encoding !== 'auto')
    throw usageError(
      `--${option} contradicts --profile ${name}, whose senders do not sign`,
      `They send their key in the header ${profile.secretHeader}.`,
    )
  return { profile }
}
