import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { ERROR_CODES } from '../../errors.ts'
import { type Diagnosis, type ErrorCode, explain, sign, type VerifyResult, verify } from '../../index.ts'
import { nearest } from '../../options.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { textsOf } from '../../shared/redact.ts'
import { EXIT, usageError } from '../errors.ts'
import { METHOD, noteOnSecretHeader, readCaptures } from '../io/captures.ts'
import { readInput } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import {
  addKeyListOptions,
  addKeyOptions,
  type KeyOptions,
  readUncheckedKeys,
  requireKey,
  requireKeys,
} from '../options/secrets.ts'
import { addProofOptions, type ProofOptions, toReceiverProof } from '../options/signature.ts'
import { byteSize, duration, headerLine, wholeNumber } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'

interface SignOptions extends KeyOptions {
  encoding: 'hex' | 'base64'
  prefix?: string
}

export function createSignCommand(io: Io): Command {
  return new CliCommand('sign')
    .summary('print the signature of a file')
    .description('Prints the HMAC-SHA256 signature of the exact bytes of a file.')
    .argument('<file>', 'file that contains the body; - reads standard input')
    .choice('--encoding <name>', 'encoding of the signature', ['hex', 'base64'], 'hex')
    .option('--prefix <text>', 'text before the signature, for example sha256=')
    .option('--json', 'print JSON')
    .with(addKeyOptions)
    .examples(
      'geohook sign body.json --key-file key.txt',
      "geohook sign - --key-env WEBHOOK_KEY --encoding base64 --prefix 'sha256='",
    )
    .action(async (file: string, { encoding, prefix, ...keys }: SignOptions) => {
      const signatureKey = await requireKey(io, keys)
      const signature = await sign({ body: await readInput(io, file), signatureKey, encoding, prefix })
      io.printResult({ signature }, signature)
    })
}

interface VerifyOptions extends KeyOptions, ProofOptions {
  signature?: string
  header?: HeaderPairs
}

export function createVerifyCommand(io: Io): Command {
  return new CliCommand('verify')
    .summary('check the signature of a file')
    .description(
      'Checks whether a signature matches the exact bytes of a file and one of the keys. ' +
        'The exit code is 0 if it matches, otherwise 1; "geohook explain" then finds the cause. ' +
        'With --profile portal, checks only whether the header secret is one of the keys, because nothing is signed.',
    )
    .argument('<file>', 'file that contains the body; - reads standard input')
    .option('--signature <text>', 'signature as received')
    .option(
      '--header <line>',
      "header that contains the signature, as 'x-service: …'; repeatable, other headers are ignored",
      headerLine(io),
    )
    .with(addProofOptions)
    .option('--json', 'print JSON')
    .with(addKeyListOptions)
    .examples(
      'geohook verify body.json --key-file key.txt --signature 3f1c0a9b',
      "geohook verify body.json --key-file new.txt --key-file old.txt --header 'x-service: 3f1c0a9b'",
    )
    .action(async (file: string, options: VerifyOptions) => {
      const proof = toReceiverProof(options)
      const isSigned = 'signatureHeader' in proof
      const value = isSigned
        ? signatureIn(options, proof.signatureHeader)
        : secretIn(options, proof.profile.secretHeader)
      const signatureKey = await requireKeys(io, options)
      const body = await readInput(io, file)
      const verdict = isSigned
        ? await verify({ body, signature: value, signatureKey, encoding: proof.encoding })
        : compare(value, signatureKey)
      io.printResult(verdict, () => printVerdict(io, verdict, signatureKey.length, isSigned))
      if (!verdict.ok) io.exitCode = EXIT.failure
    })
}

function signatureIn({ signature, header }: VerifyOptions, signatureHeader: string): string | undefined {
  if (signature !== undefined && header) throw usageError('give either --signature or --header')
  if (signature !== undefined) return signature
  if (!header) throw usageError('the signature is missing', "Give --signature, or --header 'x-service: …'.")
  return headerValue(header, signatureHeader)
}

function secretIn({ signature, header }: VerifyOptions, secretHeader: string): string | undefined {
  const fix = `Give --header '${secretHeader}: …'.`
  if (signature !== undefined)
    throw usageError('--signature contradicts --profile portal, whose senders do not sign', fix)
  if (!header) throw usageError('the header with the key is missing', fix)
  return headerValue(header, secretHeader)
}

function headerValue(header: HeaderPairs, wanted: string): string | undefined {
  const values = header.filter(([name]) => name.toLowerCase() === wanted.toLowerCase())
  return values.length > 0 ? values.map(([, value]) => value).join(', ') : undefined
}

function compare(value: string | undefined, keys: readonly string[]): VerifyResult {
  if (!value) return { ok: false, code: 'signature_missing' }
  const keyIndex = keys.findIndex((key) => textsOf(key).includes(value))
  return keyIndex < 0 ? { ok: false, code: 'signature_mismatch' } : { ok: true, keyIndex }
}

function printVerdict(io: Io, verdict: VerifyResult, keyCount: number, isSigned: boolean): void {
  if (!verdict.ok) {
    io.print(io.colours.red(verdict.code))
    io.note('"geohook explain" finds the cause.')
    return
  }
  const which = keyCount === 1 ? '' : ` with key ${verdict.keyIndex}, 0 being the newest`
  io.print(io.colours.green(isSigned ? 'verified' : 'the key matches') + which)
  if (!isSigned) io.note('The body was not checked, because these senders do not sign it.')
}

interface KeyCommandOptions {
  bytes: number
  out?: string
}

export function createKeyCommand(io: Io): Command {
  return new CliCommand('key')
    .summary('generate a strong signature key')
    .description(
      'Generates a random signature key in hex, because the specification requires alphanumeric text. ' +
        'Use the same text for the webhook and the receiver.',
    )
    .option('--bytes <n>', 'number of random bytes, 16 to 512', wholeNumber(16, 512), 32)
    .option('--out <path>', 'write the key to a new file that only you can read, instead of printing it')
    .option('--json', 'print JSON')
    .examples('geohook key', 'geohook key --out key.txt')
    .action(async ({ bytes, out }: KeyCommandOptions) => {
      const signatureKey = randomBytes(bytes).toString('hex')
      if (out === undefined) return io.printResult({ signatureKey }, signatureKey)
      await writeKey(out, signatureKey)
      io.printResult({ file: out }, `wrote a new key to ${out}`)
    })
}

async function writeKey(path: string, key: string): Promise<void> {
  try {
    await writeFile(path, `${key}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw usageError(
        `${path} already exists`,
        'Key files are never overwritten, because the key may be in use. Give another name.',
      )
    }
    throw usageError(`cannot write ${path}: ${message.split(':')[0]}`)
  }
}

interface ExplainOptions extends KeyOptions, ProofOptions {
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

interface FileDiagnosis extends Diagnosis {
  file: string
  /** A remark about the request, for example on a secret in its headers. */
  note: string | undefined
}

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
    .action(async (paths: string[], options: ExplainOptions) => {
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
          const keys = signatureKey.length > 0 ? { signatureKey } : {}
          const receiver = { ...keys, ...receiverOptions(options), clock: () => receivedAt }
          const diagnosis = await explain(request, receiver, { thorough: options.thorough })
          diagnoses.push({ file, ...diagnosis, note: noteOnSecretHeader(diagnosis, request.headers) })
        }
      })
      if (io.json) io.printJson({ diagnoses })
      else for (const diagnosis of diagnoses) printDiagnosis(io, diagnosis)
      if (diagnoses.some(({ ok }) => !ok)) io.exitCode = EXIT.failure
    })
}

const receiverOptions = ({ limit, maxAge, unsigned, ...proof }: ExplainOptions) => ({
  ...toReceiverProof(proof),
  limit: limit ?? MAX_EXPLAINED,
  maxAge,
  unsigned,
})

async function explainCode(io: Io, code: ErrorCode, options: ExplainOptions): Promise<void> {
  requireNoHead(options)
  const diagnosis = await explain({ code, headers: {} })
  if (io.json) io.printJson({ diagnoses: [diagnosis] })
  else printDiagnosis(io, { file: code, note: undefined, ...diagnosis })
  io.exitCode = EXIT.failure
}

/** @throws {CliError} exit code 2 for options that describe a request, which a capture contains */
function requireNoHead({ header, method, url }: ExplainOptions): void {
  if (!header && !method && !url) return
  const option = header ? 'header' : method ? 'method' : 'url'
  throw usageError(`--${option} requires --body`, 'A capture contains its method, URL and headers.')
}

async function readRequests(
  io: Io,
  paths: readonly string[],
  options: ExplainOptions,
): Promise<StoredRequest[]> {
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
  if (METHOD.test(value)) return value
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
