import { type Command, Option } from 'commander'
import { arcgis, type ProfileName, portal } from '../../index.ts'
import type { PayloadDetails, SignerOptions } from '../../testing/index.ts'
import { usageError } from '../errors.ts'
import {
  addWrittenSignatureOptions,
  choice,
  type Dialect,
  dialectOption,
  type WrittenSignature,
} from '../options/sender.ts'
import { collect, wholeNumber } from '../options/values.ts'

/** Values of the options that say what a sender writes, and how. */
export interface SenderOptions extends Partial<WrittenSignature> {
  changeType?: string[]
  dialect?: Dialect
  profile?: ProfileName
  form?: true
  payloadFormat?: 'json' | 'pjson'
  serviceName?: string
  serviceType?: 'FeatureServer' | 'GPServer'
  folder?: string
  layerId?: number[]
}

const MAX_LAYER = 2 ** 31 - 1

/** Parses the id of a layer, and adds it to the previous ones. */
const layerIds = (value: string, previous: readonly number[] = []): number[] => [
  ...previous,
  wholeNumber(0, MAX_LAYER)(value),
]

/** Adds the options for the payload and the signature. */
export function addSenderOptions(command: Command): void {
  command
    .option(
      '--change-type <name>',
      'generate a payload with this event instead of reading a file; repeatable',
      collect,
    )
    .addOption(
      dialectOption('format of the generated payload, which also sets the profile (default: by profile)'),
    )
    .option('--service-name <name>', 'name of the service in the generated payload')
    .addOption(
      choice('--service-type <type>', 'type of the service in the generated payload', [
        'FeatureServer',
        'GPServer',
      ]),
    )
    .option('--folder <name>', 'folder of the service in the generated payload')
    .option('--layer-id <n>', 'with --dialect hosted: layer with the event; repeatable', layerIds)
    .addOption(choice('--payload-format <name>', 'layout of the generated JSON', ['json', 'pjson']))
    .addOption(
      new Option(
        '--profile <name>',
        'kind of sender: service signs in x-service, arcgis in x-esriHook-Signature; portal sends the key itself in the header secret, and signs nothing (default: by dialect)',
      ).choices(['service', 'arcgis', 'portal']),
    )
    .option('--form', 'send a form with the JSON in its field payload')
  addWrittenSignatureOptions(command)
}

/** The profile whose senders use this dialect. */
const PROFILES: Readonly<Record<Dialect, ProfileName>> = {
  service: 'service',
  hosted: 'arcgis',
  organization: 'portal',
}

/** How a sender of each profile signs, as far as the options do not say it. */
const SIGNATURES: Readonly<Record<ProfileName, Partial<SignerOptions>>> = {
  service: {},
  arcgis: { signatureHeader: arcgis.signatureHeader, encoding: 'base64', prefix: 'sha256=' },
  portal: {},
}

/** What a sender writes. */
export interface Sender {
  signer: Omit<SignerOptions, 'signatureKey'>
  details: PayloadDetails
  /** The header for the key itself, of a sender that does not sign. */
  secretHeader: string | undefined
}

/** @throws {CliError} exit code 2 for options that contradict each other or have no effect together */
export function toSender(options: SenderOptions): Sender {
  requireConsistent(options)
  const { form, payloadFormat, serviceName, serviceType, folder, layerId } = options
  const profile = options.profile ?? PROFILES[options.dialect ?? 'service']
  const dialect = options.dialect ?? (profile === 'portal' ? 'organization' : 'service')
  if (profile === 'portal') requireNoSignature(options)
  const { signatureHeader, encoding, prefix, percentEncoded } = {
    ...SIGNATURES[profile],
    ...defined(options),
  }
  const isHosted = form === true && dialect === 'hosted' // Online signs forms in their last field
  return {
    secretHeader: profile === 'portal' ? portal.secretHeader : undefined,
    signer: {
      signatureHeader,
      encoding,
      prefix,
      percentEncoded,
      payloadFormat,
      signatureIn: options.signatureIn ?? (isHosted && profile !== 'portal' ? 'field' : 'header'),
      formPayload: options.formPayload ?? (isHosted ? 'plain' : 'encoded'),
      contentType: form ? 'application/x-www-form-urlencoded' : 'application/json',
    },
    details: { dialect, serviceName, serviceType, folderName: folder, layerIds: layerId },
  }
}

/** The options that are given. An option that is not given would hide the default of the profile. */
const defined = <T extends object>(options: T): Partial<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>

const requires = (option: string, other: string): never => {
  throw usageError(`--${option} requires --${other}`)
}

function requireConsistent(options: SenderOptions): void {
  const { changeType, dialect, form, signatureIn, formPayload, layerId, payloadFormat } = options
  if (signatureIn === 'field' && !form) requires('signature-in field', 'form')
  if (formPayload !== undefined && !form) requires('form-payload', 'form')
  if (layerId !== undefined && dialect !== 'hosted') requires('layer-id', 'dialect hosted')
  if (changeType) return
  if (payloadFormat !== undefined) requires('payload-format', 'change-type')
  if (options.serviceName !== undefined) requires('service-name', 'change-type')
  if (options.serviceType !== undefined) requires('service-type', 'change-type')
  if (options.folder !== undefined) requires('folder', 'change-type')
  if (layerId !== undefined) requires('layer-id', 'change-type')
}

function requireNoSignature(options: SenderOptions): void {
  const { signatureHeader, encoding, prefix, signatureIn, percentEncoded } = options
  const [option] =
    Object.entries({
      'signature-header': signatureHeader,
      encoding,
      prefix,
      'signature-in': signatureIn,
      'percent-encoded': percentEncoded,
    }).find(([, value]) => value !== undefined) ?? []
  if (option !== undefined)
    throw usageError(
      `--${option} contradicts the profile portal, whose senders do not sign`,
      `They send the key itself in the header ${portal.secretHeader}. To sign this payload, add --profile arcgis.`,
    )
}
