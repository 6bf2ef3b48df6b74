import { type Command, Option } from 'commander'
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
import { usageError } from '../errors.ts'
import { headerName } from './values.ts'

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
interface ProofOptions {
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

/** Creates an option with a fixed list of values. */
export const choice = (
  flags: string,
  description: string,
  values: readonly string[],
  defaultValue?: string,
): Option => new Option(flags, description).choices(values).default(defaultValue)

export type Dialect = 'service' | 'hosted' | 'organization'

/** Creates `--dialect`, for commands that write payloads. */
export const dialectOption = (description: string, defaultValue?: Dialect): Option =>
  choice('--dialect <name>', description, ['service', 'hosted', 'organization'], defaultValue)

/** Values of the options that say how a sender writes a signature. */
export type WrittenSignature = { [name in keyof SignatureOptions]: NonNullable<SignatureOptions[name]> }

/** Adds the options that say how a sender writes a signature. They have no defaults, because the dialect sets them. */
export const addWrittenSignatureOptions = (command: Command): Command =>
  command
    .option('--signature-header <name>', 'header or form field for signatures', headerName)
    .addOption(choice('--encoding <name>', 'encoding of signatures', ['hex', 'base64']))
    .option('--prefix <text>', 'text before signatures, for example sha256=')
    .addOption(choice('--signature-in <place>', 'where a form carries its signature', ['header', 'field']))
    .option('--percent-encoded', 'percent-encode signatures in the header')
    .addOption(choice('--form-payload <how>', 'how a form encodes its payload', ['encoded', 'plain']))
