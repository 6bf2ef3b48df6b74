import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { sign, type Verdict, verify } from '../../index.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { textsOf } from '../../shared/redact.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import { CliCommand } from '../options/command.ts'
import {
  addKeyListOptions,
  addKeyOptions,
  type KeyOptions,
  requireKey,
  requireKeys,
} from '../options/secrets.ts'
import { addProofOptions, type ProofOptions, toReceiverProof } from '../options/signature.ts'
import { headerLine, wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'

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

function compare(value: string | undefined, keys: readonly string[]): Verdict {
  if (!value) return { ok: false, code: 'signature_missing' }
  const keyIndex = keys.findIndex((key) => textsOf(key).includes(value))
  return keyIndex < 0 ? { ok: false, code: 'signature_mismatch' } : { ok: true, keyIndex }
}

function printVerdict(io: Io, verdict: Verdict, keyCount: number, isSigned: boolean): void {
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
