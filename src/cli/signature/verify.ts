import { Command, Option } from 'commander'
import { type SignatureEncoding, type Verdict, verify } from '../../index.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import type { HeaderPairs } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, requireKeys } from '../options/keys.ts'
import { headerLine, headerName } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { note, paint, print, printJson } from '../terminal/output.ts'

interface Options extends KeyOptions {
  signature?: string
  header?: HeaderPairs
  signatureHeader: string
  encoding: SignatureEncoding
  json?: true
}

/** `geohook verify`: is this the signature of this file? */
export function createVerifyCommand(): Command {
  const command = new Command('verify')
    .summary('check the signature of a file')
    .description(
      'Says whether a signature was made over the exact bytes of a file with one of the keys. ' +
        'The exit code is 0 if it was, else 1. Where it was not, "geohook explain" finds out why.',
    )
    .argument('<file>', 'the body; - reads the standard input')
    .option('--signature <text>', 'the signature as it came')
    .option('--header <line>', "the header that has it, as 'x-service: …'; repeat it for others", headerLine)
    .option('--signature-header <name>', 'which of the headers has it', headerName, 'x-service')
    .addOption(
      new Option('--encoding <name>', 'how the signature is written')
        .choices(['auto', 'hex', 'base64'])
        .default('auto'),
    )
    .option('--json', 'print JSON')
  addKeyOptions(command, { several: true })
  addExamples(command, [
    'geohook verify body.json --key-file key.txt --signature 3f1c0a9b',
    "geohook verify body.json --key-file new.txt --key-file old.txt --header 'x-service: 3f1c0a9b'",
  ])
  return command.action(async (file: string, options: Options) => {
    const signature = findSignature(options)
    const signatureKey = await requireKeys(options)
    const body = await readInput(file)
    const verdict = await verify({ body, signature, signatureKey, encoding: options.encoding })
    if (options.json) printJson(verdict)
    else tell(verdict, signatureKey.length)
    if (!verdict.ok) process.exitCode = EXIT.no
  })
}

function findSignature({ signature, header, signatureHeader }: Options): string | undefined {
  if (signature !== undefined && header) throw usageError('give either --signature or --header')
  if (signature !== undefined) return signature
  if (!header)
    throw usageError('there is no signature to check', "Give --signature, or --header 'x-service: …'.")
  const values = header.filter(([name]) => name.toLowerCase() === signatureHeader.toLowerCase())
  return values.length > 0 ? values.map(([, value]) => value).join(', ') : undefined
}

function tell(verdict: Verdict, keys: number): void {
  if (!verdict.ok) {
    print(paint.red(verdict.code))
    note('"geohook explain" finds the cause.')
  } else if (keys === 1) print(paint.green('verified'))
  else print(`${paint.green('verified')} with key ${verdict.keyIndex}, 0 being the newest`)
}
