import {
  arcgis,
  type Profile,
  type ProfileName,
  portal,
  type SecretProfile,
  type SignatureEncoding,
  service,
} from '../../index.ts'
import type { SignatureOptions } from '../../mock/index.ts'
import { PROFILES } from '../../shared/senders.ts'
import { usageError } from '../errors.ts'
import type { CliCommand } from './command.ts'
import { headerName } from './values.ts'

const BY_NAME: Readonly<Record<ProfileName, Profile | SecretProfile>> = { service, arcgis, portal }

/** Adds the options that say how a sender proves who it is, for commands that receive or check deliveries. */
export const addProofOptions = (command: CliCommand): unknown =>
  command
    .choice(
      '--profile <name>',
      'kind of sender: service signs in x-service, arcgis in x-esriHook-Signature; portal sends its key in the header secret, and signs nothing',
      PROFILES,
      'service',
    )
    .option(
      '--signature-header <name>',
      "header that contains the signature (default: the profile's)",
      headerName,
    )
    .choice('--encoding <name>', 'encoding of the signature', ['auto', 'hex', 'base64'], 'auto')

export interface ProofOptions {
  profile: ProfileName
  signatureHeader?: string
  encoding: SignatureEncoding
}

/** The receiver options that these options mean. */
export type ReceiverProof =
  | { profile: Profile; signatureHeader: string; encoding: SignatureEncoding }
  | { profile: SecretProfile }

/** @throws {CliError} exit code 2 for options about a signature with a profile whose senders do not sign */
export function toReceiverProof({ profile: name, signatureHeader, encoding }: ProofOptions): ReceiverProof {
  const profile = BY_NAME[name]
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

/** Values of the options that say how a sender writes a signature. */
export type WrittenSignature = { [name in keyof SignatureOptions]: NonNullable<SignatureOptions[name]> }

/** Adds the options that say how a sender writes a signature. They have no defaults, because the dialect sets them. */
export const addWrittenSignatureOptions = (command: CliCommand): unknown =>
  command
    .option('--signature-header <name>', 'header or form field for signatures', headerName)
    .choice('--encoding <name>', 'encoding of signatures', ['hex', 'base64'])
    .option('--prefix <text>', 'text before signatures, for example sha256=')
    .choice('--signature-in <place>', 'where a form carries its signature', ['header', 'field'])
    .option('--percent-encoded', 'percent-encode signatures in the header')
    .choice('--form-payload <how>', 'how a form encodes its payload', ['encoded', 'plain'])
