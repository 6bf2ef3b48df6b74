import type { Command } from 'commander'
import { arcgis, type ProfileName, portal, service } from '../../index.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { DIALECTS, type Dialect, PROFILE_OF, PROFILES } from '../../shared/senders.ts'
import { isSuccess } from '../../shared/status.ts'
import { count } from '../../shared/words.ts'
import { createPayload, createSigner, type PayloadDetails, type SignerOptions } from '../../testing/index.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput, readText } from '../io/files.ts'
import { sendRequest } from '../io/http.ts'
import { addCaOption, type CaOptions, readTrust } from '../options/ca.ts'
import { CliCommand } from '../options/command.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/secrets.ts'
import { addWrittenSignatureOptions, type WrittenSignature } from '../options/signature.ts'
import { collect, headerLine, httpUrl, listOf, wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'

interface Options extends KeyOptions, SenderOptions, CaOptions {
  to: URL
  contentType?: string
  header?: HeaderPairs
}

export function createSendCommand(io: Io): Command {
  return new CliCommand('send')
    .summary('sign a file and post it to a receiver')
    .description(
      'Signs the exact bytes of a file, or of a generated payload, and posts them, as services, hosted services or organizations do. ' +
        'The exit code is 0 for a 2xx response, 1 for any other, and 3 without a response.',
    )
    .argument('[file]', 'file that contains the body; - reads standard input')
    .requiredOption('--to <url>', 'payload URL of the receiver', httpUrl)
    .option(
      '--content-type <type>',
      'content type of the request (default: application/json, or that of a form with --form)',
    )
    .option('--header <line>', "additional header, as 'name: value'; repeatable", headerLine(io))
    .option('--json', 'print JSON')
    .with(addSenderOptions)
    .with(addKeyOptions)
    .with(addCaOption)
    .examples(
      'geohook send --change-type FeaturesCreated --to http://127.0.0.1:3000/ --key-file key.txt',
      'geohook send --change-type FeaturesCreated --dialect hosted --form --to http://127.0.0.1:3000/ --key-file key.txt',
      'geohook send --change-type add --dialect organization --to http://127.0.0.1:3000/ --key-file key.txt',
      'geohook send body.json --to http://127.0.0.1:3000/ --key-file key.txt',
    )
    .action(async (file: string | undefined, options: Options) => {
      const { signer, details, secretHeader } = toSender(options)
      const signatureKey = await requireKey(io, options)
      const trust = await readTrust(io, options)
      const payload = await readPayload(io, file, options, details)
      const { method, headers, bytes } = await createSigner({ ...signer, signatureKey }).sign(payload)
      if (secretHeader !== undefined) {
        delete headers[service.signatureHeader]
        headers[secretHeader] = Buffer.from(signatureKey).toString('latin1') // one character per byte
      }
      if (options.contentType !== undefined) headers['content-type'] = options.contentType
      const lines = [...Object.entries(headers), ...(options.header ?? [])]
      const answer = await io.withProgress(`waiting for ${options.to.origin}`, () =>
        sendRequest(options.to, { method, headers: lines, body: bytes }, { trust }),
      )
      const { status } = answer
      const text = answer.body.toString()
      io.printResult({ status, bytes: bytes.length, answer: text }, () => {
        io.print(`${io.toStatus(status)}  ${io.shortened(text, 200)}`.trimEnd())
        io.print(io.colours.dim(`sent ${count(bytes.length, 'byte')}`))
      })
      if (!isSuccess(status)) io.exitCode = EXIT.failure
    })
}

async function readPayload(
  io: Io,
  file: string | undefined,
  { changeType, form }: Options,
  details: PayloadDetails,
): Promise<unknown> {
  if (changeType) {
    if (file !== undefined) throw usageError('give either a file or --change-type')
    return createPayload(changeType, details)
  }
  if (file === undefined)
    throw usageError('the body is missing', 'Give a file, - for standard input, or --change-type.')
  return form ? readText(io, file) : readInput(io, file)
}

/** Values of the options that say what a sender writes, and how. */
interface SenderOptions extends Partial<WrittenSignature> {
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

const SERVICE_TYPES = ['FeatureServer', 'GPServer']
const MAX_LAYER = 2 ** 31 - 1

/** Adds the options for the payload and the signature. */
function addSenderOptions(command: CliCommand): void {
  command
    .option(
      '--change-type <name>',
      'generate a payload with this event instead of reading a file; repeatable',
      collect,
    )
    .choice(
      '--dialect <name>',
      'format of the generated payload, which also sets the profile (default: by profile)',
      DIALECTS,
    )
    .option('--service-name <name>', 'name of the service in the generated payload')
    .choice('--service-type <type>', 'type of the service in the generated payload', SERVICE_TYPES)
    .option('--folder <name>', 'folder of the service in the generated payload')
    .option(
      '--layer-id <n>',
      'with --dialect hosted: layer with the event; repeatable',
      listOf(wholeNumber(0, MAX_LAYER)),
    )
    .choice('--payload-format <name>', 'layout of the generated JSON', ['json', 'pjson'])
    .choice(
      '--profile <name>',
      'kind of sender: service signs in x-service, arcgis in x-esriHook-Signature; portal sends the key itself in the header secret, and signs nothing (default: by dialect)',
      PROFILES,
    )
    .option('--form', 'send a form with the JSON in its field payload')
    .with(addWrittenSignatureOptions)
}

/** How a sender of the profile `arcgis` signs, as far as the options do not say it. */
const ARCGIS = { signatureHeader: arcgis.signatureHeader, encoding: 'base64', prefix: 'sha256=' } as const

/** What a sender writes. */
interface Sender {
  signer: Omit<SignerOptions, 'signatureKey'>
  details: PayloadDetails
  /** The header for the key itself, of a sender that does not sign. */
  secretHeader: string | undefined
}

/** @throws {CliError} exit code 2 for options that contradict each other or have no effect together */
function toSender(options: SenderOptions): Sender {
  requireConsistent(options)
  const { form, payloadFormat, serviceName, serviceType, folder, layerId } = options
  const profile = options.profile ?? PROFILE_OF[options.dialect ?? 'service']
  const dialect = options.dialect ?? (profile === 'portal' ? 'organization' : 'service')
  if (profile === 'portal') requireNoSignature(options)
  const preset: Partial<SignerOptions> = profile === 'arcgis' ? ARCGIS : {}
  const isHosted = form === true && dialect === 'hosted' // Online signs forms in their last field
  return {
    secretHeader: profile === 'portal' ? portal.secretHeader : undefined,
    signer: {
      signatureHeader: options.signatureHeader ?? preset.signatureHeader,
      encoding: options.encoding ?? preset.encoding,
      prefix: options.prefix ?? preset.prefix,
      percentEncoded: options.percentEncoded,
      payloadFormat,
      signatureIn: options.signatureIn ?? (isHosted && profile !== 'portal' ? 'field' : 'header'),
      formPayload: options.formPayload ?? (isHosted ? 'plain' : 'encoded'),
      contentType: form ? 'application/x-www-form-urlencoded' : 'application/json',
    },
    details: { dialect, serviceName, serviceType, folderName: folder, layerIds: layerId },
  }
}

/** Names of options that describe a generated payload. */
const PAYLOAD_OPTIONS = ['payloadFormat', 'serviceName', 'serviceType', 'folder', 'layerId'] as const
/** Names of options that describe a signature. */
const SIGNATURE_OPTIONS = ['signatureHeader', 'encoding', 'prefix', 'signatureIn', 'percentEncoded'] as const

/** Returns the first of these options that is given, as the user writes it. */
const firstGiven = (options: SenderOptions, names: readonly (keyof SenderOptions)[]): string | undefined =>
  names.find((name) => options[name] !== undefined)?.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function requireConsistent(options: SenderOptions): void {
  const { changeType, dialect, form, signatureIn, formPayload, layerId } = options
  const requires = (option: string, other: string): never => {
    throw usageError(`--${option} requires --${other}`)
  }
  if (signatureIn === 'field' && !form) requires('signature-in field', 'form')
  if (formPayload !== undefined && !form) requires('form-payload', 'form')
  if (layerId !== undefined && dialect !== 'hosted') requires('layer-id', 'dialect hosted')
  const option = changeType ? undefined : firstGiven(options, PAYLOAD_OPTIONS)
  if (option !== undefined) requires(option, 'change-type')
}

function requireNoSignature(options: SenderOptions): void {
  const option = firstGiven(options, SIGNATURE_OPTIONS)
  if (option !== undefined)
    throw usageError(
      `--${option} contradicts the profile portal, whose senders do not sign`,
      `They send the key itself in the header ${portal.secretHeader}. To sign this payload, add --profile arcgis.`,
    )
}
