import { type Command, InvalidArgumentError } from 'commander'
import { ERROR_CODES } from '../../errors.ts'
import { type Diagnosis, type ErrorCode, explain } from '../../index.ts'
import { nearest } from '../../options.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { EXIT, usageError } from '../errors.ts'
import { noteOnSecretHeader, readCaptures } from '../io/captures.ts'
import { readInput } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import { addKeyListOptions, type KeyOptions, readUncheckedKeys } from '../options/secrets.ts'
import { addProofOptions, type ProofOptions, toReceiverProof } from '../options/signature.ts'
import { byteSize, duration, headerLine } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'

interface Options extends KeyOptions, ProofOptions {
  body?: string
  header?: HeaderPairs
  method?: string
  url?: string
  code?: ErrorCode
  limit?: number
  maxAge?: number
  unsigned: 'reject' | 'accept'
  thorough?: true
}

/** A diagnosis of a request in a file. */
interface FileDiagnosis extends Diagnosis {
  file: string
  /** A remark about the request, for example on a secret in its headers. */
  note: string | undefined
}

/** A request to explain, with the file that contains it. */
interface StoredRequest {
  file: string
  headers: HeaderPairs
  body: Uint8Array
  method?: string | undefined
  url?: string | undefined
  code?: ErrorCode | undefined
  /** Time in milliseconds since 1970. Default: now. */
  receivedAt?: number
}

export function createExplainCommand(io: Io): Command {
  return new CliCommand('explain')
    .summary('find out why a request was refused')
    .description(
      'Tests known mistakes of senders and receivers. Names a cause only if it is proved: for a wrong signature, by ' +
        'recomputing it. Keys are not trimmed, because white space around them is one of the causes. ' +
        'With --code alone, explains that code. The exit code is 0 if all requests are accepted, otherwise 1.',
    )
    .argument('[captures...]', 'files written by "geohook listen --save", or folders of them')
    .option('--body <file>', 'file that contains the body, instead of captures; - reads standard input')
    .option(
      '--header <line>',
      "with --body: a header, as 'name: value'; repeat it for each header",
      headerLine(io),
    )
    .option('--method <name>', 'with --body: method of the request (default: POST)', methodName)
    .option('--url <url>', 'with --body: path and query of the request')
    .option('--code <code>', 'code with which the receiver refused the request', codeName)
    .with(addProofOptions)
    .option('--limit <size>', "the receiver's limit, for example 512kb (default: not checked)", byteSize)
    .option('--max-age <duration>', "the receiver's maxAge, for example 15m (default: not checked)", duration)
    .choice(
      '--unsigned <what>',
      'what the receiver does with requests without a signature',
      ['reject', 'accept'],
      'reject',
    )
    .option(
      '--thorough',
      'do 64 times as much work, also for bodies of up to 1 MiB; can take ten seconds and 0.5 GB of memory',
    )
    .option('--json', 'print JSON')
    .with(addKeyListOptions)
    .examples(
      'geohook explain captures --key-file key.txt',
      "geohook explain --body body.json --header 'x-service: 3f1c0a9b' --key-file key.txt",
    )
    .action(async (paths: string[], options: Options) => {
      if (options.code && paths.length === 0 && options.body === undefined)
        return explainCode(io, options.code, options)
      const isOptional = options.unsigned === 'accept'
      const signatureKey = await readUncheckedKeys(io, options, isOptional)
      const requests = await readRequests(io, paths, options)
      requests.forEach(requireExplainable)
      const diagnoses: FileDiagnosis[] = []
      await io.withProgress('explaining', async (progress) => {
        for (const { file, receivedAt = Date.now(), ...request } of requests) {
          progress.update(`explaining ${diagnoses.length + 1} of ${requests.length}`)
          const diagnosis = await explain({
            ...request,
            ...(signatureKey.length > 0 ? { signatureKey } : {}),
            ...receiverOptions(options),
            clock: () => receivedAt,
          })
          diagnoses.push({ file, ...diagnosis, note: noteOnSecretHeader(diagnosis, request.headers) })
        }
      })
      if (io.json) io.printJson({ diagnoses })
      else for (const diagnosis of diagnoses) printDiagnosis(io, diagnosis)
      if (diagnoses.some(({ ok }) => !ok)) io.exitCode = EXIT.failure
    })
}

const receiverOptions = ({ limit, maxAge, unsigned, thorough, ...proof }: Options) => ({
  ...toReceiverProof(proof),
  limit: limit ?? MAX_EXPLAINED,
  maxAge,
  unsigned,
  thorough,
})

/** Explains a code by itself. Needs no key. */
async function explainCode(io: Io, code: ErrorCode, options: Options): Promise<void> {
  requireNoHead(options)
  const diagnosis = await explain({ code, headers: {} })
  if (io.json) io.printJson({ diagnoses: [diagnosis] })
  else printDiagnosis(io, { file: code, note: undefined, ...diagnosis })
  io.exitCode = EXIT.failure
}

/** @throws {CliError} exit code 2 for options that describe a request, which a capture contains */
function requireNoHead({ header, method, url }: Options): void {
  if (!header && !method && !url) return
  const option = header ? 'header' : method ? 'method' : 'url'
  throw usageError(`--${option} requires --body`, 'A capture contains its method, URL and headers.')
}

async function readRequests(io: Io, paths: readonly string[], options: Options): Promise<StoredRequest[]> {
  const { body, header, method, url, code } = options
  if (body === undefined) {
    requireNoHead(options)
    if (paths.length === 0)
      throw usageError('there is nothing to explain', 'Give captures, --body and --header, or --code.')
    return (await readCaptures(io, paths)).map(({ outcome, receivedAt, ...capture }) => ({
      ...capture,
      code: code ?? (isCode(outcome.code) ? outcome.code : undefined),
      receivedAt: Date.parse(receivedAt),
    }))
  }
  if (paths.length > 0) throw usageError('give either captures or --body')
  return [{ file: body, headers: header ?? [], method, url, code, body: await readInput(io, body) }]
}

/** Maximum body size in bytes. It is limited because explaining creates many copies of the body. */
const MAX_EXPLAINED = 8 * 1024 * 1024

/** @throws {CliError} exit code 2 if the body is too large */
function requireExplainable({ file, body }: StoredRequest): void {
  if (body.length > MAX_EXPLAINED)
    throw usageError(
      `${file}: the body is larger than 8 MiB, the limit of explain`,
      'Choose a smaller delivery.',
    )
}

/** Codes that a request can cause. */
const isCode = (code: string | undefined): code is ErrorCode =>
  code !== undefined && code !== 'config_invalid' && Object.hasOwn(ERROR_CODES, code)

function codeName(value: string): ErrorCode {
  if (isCode(value)) return value
  const meant = nearest(value, Object.keys(ERROR_CODES))
  throw new InvalidArgumentError(
    `must be a code that a receiver reports${meant ? `. Did you mean ${meant}?` : ', for example signature_mismatch'}`,
  )
}

function methodName(value: string): string {
  if (/^[A-Z][A-Z-]{0,19}$/.test(value)) return value
  throw new InvalidArgumentError('must be a method in upper case, for example POST')
}

/** Prints a diagnosis. Escapes the evidence, because an attacker may have chosen the header and field names in it. */
function printDiagnosis(io: Io, { file, ok, cause, also, evidence, fix, note }: FileDiagnosis): void {
  io.print(io.colours.bold(printable(file)))
  io.print(`  cause     ${ok ? io.colours.green(cause) : io.colours.red(cause)}`)
  if (also) io.print(`  also      ${io.colours.red(also.join(', '))}`)
  io.print(`  evidence  ${printable(evidence)}`)
  io.print(`  fix       ${fix}`)
  if (note) io.print(`  note      ${note}`)
}
