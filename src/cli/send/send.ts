import type { Command } from 'commander'
import { arcgis, type ProfileName, portal, service, sign } from '../../index.ts'
import { endToEnd, type HeaderPairs } from '../../shared/headers.ts'
import { DIALECTS, type Dialect, PROFILE_OF, PROFILES } from '../../shared/senders.ts'
import { isSuccess } from '../../shared/status.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { count } from '../../shared/words.ts'
import { createPayload, createSigner, type PayloadDetails, type SignerOptions } from '../../testing/index.ts'
import { type CliError, EXIT, toCliError, usageError } from '../errors.ts'
import { type CaptureFile, readCaptures } from '../io/captures.ts'
import { forEachConcurrently } from '../io/concurrently.ts'
import { readInput, readText } from '../io/files.ts'
import { sendRequest } from '../io/http.ts'
import {
  addCaOption,
  type CaOptions,
  CliCommand,
  readTrust,
  requireOthers,
  toFlag,
} from '../options/command.ts'
import { addKeyOptions, hasKeyOption, type KeyOptions, requireKey } from '../options/secrets.ts'
import { addWrittenSignatureOptions, type WrittenSignature } from '../options/signature.ts'
import { collect, headerLine, headerName, httpUrl, listOf, wholeNumber } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'

interface SendOptions extends KeyOptions, SenderOptions, CaOptions {
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
    .action(async (file: string | undefined, options: SendOptions) => {
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
  { changeType, form }: SendOptions,
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

/** How a sender of the profile `arcgis` signs, unless options change it. */
const ARCGIS = { signatureHeader: arcgis.signatureHeader, encoding: 'base64', prefix: 'sha256=' } as const

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

const PAYLOAD_OPTIONS = ['payloadFormat', 'serviceName', 'serviceType', 'folder', 'layerId'] as const
const SIGNATURE_OPTIONS = ['signatureHeader', 'encoding', 'prefix', 'signatureIn', 'percentEncoded'] as const

function requireConsistent(options: SenderOptions): void {
  const { dialect, form, signatureIn, layerId } = options
  if (signatureIn === 'field' && !form) throw usageError('--signature-in field requires --form')
  if (layerId !== undefined && dialect !== 'hosted') throw usageError('--layer-id requires --dialect hosted')
  requireOthers(options, [
    ['formPayload', 'form'],
    ...PAYLOAD_OPTIONS.map((name) => [name, 'changeType'] as const),
  ])
}

function requireNoSignature(options: SenderOptions): void {
  const option = SIGNATURE_OPTIONS.find((name) => options[name] !== undefined)
  if (option)
    throw usageError(
      `${toFlag(option)} contradicts the profile portal, whose senders do not sign`,
      `They send the key itself in the header ${portal.secretHeader}. To sign this payload, add --profile arcgis.`,
    )
}

interface ReplayOptions extends KeyOptions, CaOptions {
  to: URL
  resign?: true
  signatureHeader: string
  encoding: 'hex' | 'base64'
  prefix?: string
  count: number
  concurrency: number
}

/** What to print for each outcome with 2xx of a geohook receiver, whose response is `{"status":"<outcome>"}`. */
const OUTCOMES = {
  handled: '',
  stored: 'stored: handlers run later',
  duplicate: 'duplicate: no handler ran',
  unhandled: 'unhandled: no handler for its change types',
}

type Outcome = keyof typeof OUTCOMES

interface Result {
  file: string
  status?: number
  /** Outcome of the delivery, if the receiver is a geohook receiver. */
  outcome?: Outcome
  error?: CliError
}

export function createReplayCommand(io: Io): Command {
  return new CliCommand('replay')
    .summary('send captures again, unchanged or re-signed')
    .description(
      'Sends captures again: the exact bytes with their original headers, or with a new signature. ' +
        'If the receiver uses geohook, it also marks duplicates and unhandled deliveries, for which no handler ran. ' +
        'The exit code is 0 if all responses are 2xx, 1 if one is not, and 3 if there was no response.',
    )
    .argument('<captures...>', 'files written by "geohook listen --save", or folders of them')
    .requiredOption('--to <url>', 'URL to send them to', httpUrl)
    .option('--resign', 'replace the signature; requires a key')
    .option(
      '--signature-header <name>',
      'with --resign: header for the signature',
      headerName,
      service.signatureHeader,
    )
    .choice('--encoding <name>', 'encoding of the signature', ['hex', 'base64'], 'hex')
    .option('--prefix <text>', 'with --resign: text before the signature, for example sha256=')
    .option('--count <n>', 'how often to send each capture, 1 to 100000', wholeNumber(1, 100_000), 1)
    .option('--concurrency <n>', 'maximum number of concurrent requests, 1 to 100', wholeNumber(1, 100), 1)
    .option('--json', 'print JSON')
    .with(addKeyOptions)
    .with(addCaOption)
    .examples(
      'geohook replay captures --to http://127.0.0.1:3000/',
      'geohook replay captures --to http://127.0.0.1:3000/ --resign --key-file key.txt',
    )
    .action(async (paths: string[], options: ReplayOptions) => {
      const toHeaders = await createHeaders(io, options)
      const trust = await readTrust(io, options)
      const captures = await readCaptures(io, paths)
      const results = await sendAll(io, captures, toHeaders, trust, options)
      const failed = results.filter((result) => !isSuccess(result.status))
      const succeeded = results.length - failed.length
      const text = `${count(succeeded, 'response')} with 2xx, of ${results.length}${withoutHandler(results)}`
      io.printResult({ results: results.map(toJson) }, io.colours.dim(text))
      if (failed.length > 0) io.exitCode = failed.find(({ error }) => error)?.error?.exitCode ?? EXIT.failure
    })
}

type ToHeaders = (capture: CaptureFile) => Promise<HeaderPairs>

async function createHeaders(
  io: Io,
  { resign, encoding, prefix, signatureHeader, ...keys }: ReplayOptions,
): Promise<ToHeaders> {
  if (!resign) {
    if (hasKeyOption(keys))
      throw usageError('a key requires --resign', 'Add --resign to replace the signature.')
    return async ({ headers }) => endToEnd(headers)
  }
  const signatureKey = await requireKey(io, keys)
  return async ({ headers, body }) => [
    ...endToEnd(headers).filter(([name]) => name.toLowerCase() !== signatureHeader.toLowerCase()),
    [signatureHeader, await sign({ body, signatureKey, encoding, prefix })],
  ]
}

function sendAll(
  io: Io,
  captures: readonly CaptureFile[],
  toHeaders: ToHeaders,
  trust: Trust,
  { to, count: times, concurrency }: ReplayOptions,
): Promise<Result[]> {
  const results: Result[] = []
  const total = captures.length * times
  return io.withProgress('replaying', async (progress) => {
    await forEachConcurrently(repeatEach(captures, times), concurrency, async (capture) => {
      const result = await sendOne(capture, toHeaders, trust, to)
      results.push(result)
      progress.update(`replaying, ${results.length} of ${total}`)
      if (io.json) return
      progress.clear()
      printResult(io, result)
    })
    return results
  })
}

function* repeatEach(captures: readonly CaptureFile[], times: number): Generator<CaptureFile> {
  for (const capture of captures) for (let time = 0; time < times; time++) yield capture
}

/** Sends a capture. Never rejects, so that a failure does not stop the remaining captures. */
async function sendOne(capture: CaptureFile, toHeaders: ToHeaders, trust: Trust, to: URL): Promise<Result> {
  const { file, method, body } = capture
  try {
    const request = { method, headers: await toHeaders(capture), body }
    const response = await sendRequest(to, request, { trust })
    const { status } = response
    const outcome = outcomeOf(response.body)
    return outcome && isSuccess(status) ? { file, status, outcome } : { file, status }
  } catch (error) {
    return { file, error: toCliError(error) }
  }
}

function outcomeOf(body: Buffer): Outcome | undefined {
  const [, word = ''] = /^\{"status":"([a-z]{1,20})"\}$/.exec(body.toString('latin1', 0, 64)) ?? []
  return Object.hasOwn(OUTCOMES, word) ? (word as Outcome) : undefined
}

/** Returns for example `; no handler ran for 2 duplicates and 1 unhandled`, or an empty string. */
function withoutHandler(results: readonly Result[]): string {
  const duplicates = results.filter(({ outcome }) => outcome === 'duplicate').length
  const unhandled = results.filter(({ outcome }) => outcome === 'unhandled').length
  const parts = [duplicates && count(duplicates, 'duplicate'), unhandled && `${unhandled} unhandled`].filter(
    Boolean,
  )
  return parts.length > 0 ? `; no handler ran for ${parts.join(' and ')}` : ''
}

function printResult(io: Io, result: Result): void {
  const { file, status, outcome, error } = result
  const reason = error ? printable(error.message) : outcome && OUTCOMES[outcome]
  io.print(`${io.toStatus(status)}  ${printable(file)}${reason ? `  ${reason}` : ''}`)
}

const toJson = ({ error, ...result }: Result): object =>
  error ? { file: result.file, error: { code: error.code, message: error.message } } : result
