import { Command } from 'commander'
import { type SignatureEncoding, service, type Verdict, verify } from '../../index.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import type { HeaderPairs } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, requireKeys } from '../options/keys.ts'
import { acceptedEncodingOption } from '../options/signature.ts'
import { headerLine, headerName } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { colours, print, printJson, printNote } from '../terminal/output.ts'

interface Options extends KeyOptions {
  signature?: string
  header?: HeaderPairs
  signatureHeader: string
  encoding: SignatureEncoding
  json?: true
}

export function createVerifyCommand(): Command {
  const command = new Command('verify')
    .summary('check the signature of a file')
    .description(
      'Checks whether a signature matches the exact bytes of a file and one of the keys. ' +
        'The exit code is 0 if it matches, otherwise 1; "geohook explain" then finds the cause.',
    )
    .argument('<file>', 'file that contains the body; - reads standard input')
    .option('--signature <text>', 'signature as received')
    .option(
      '--header <line>',
      "header that contains the signature, as 'x-service: …'; repeatable, other headers are ignored",
      headerLine,
    )
    .option(
      '--signature-header <name>',
      'name of the header that contains the signature',
      headerName,
      service.signatureHeader,
    )
    .addOption(acceptedEncodingOption('encoding of the signature'))
    .option('--json', 'print JSON')
  addKeyOptions(command, { several: true })
  addExamples(command, [
    'geohook verify body.json --key-file key.txt --signature 3f1c0a9b',
    "geohook verify body.json --key-file new.txt --key-file old.txt --header 'x-service: 3f1c0a9b'",
  ])
  return command.action(async (file: string, options: Options) => {
    const signature = signatureIn(options)
    const signatureKey = await requireKeys(options)
    const body = await readInput(file)
    const verdict = await verify({ body, signature, signatureKey, encoding: options.encoding })
    if (options.json) printJson(verdict)
    else printVerdict(verdict, signatureKey.length)
    if (!verdict.ok) process.exitCode = EXIT.failure
  })
}

function signatureIn({ signature, header, signatureHeader }: Options): string | undefined {
  if (signature !== undefined && header) throw usageError('give either --signature or --header')
  if (signature !== undefined) return signature
  if (!header) throw usageError('the signature is missing', "Give --signature, or --header 'x-service: …'.")
  const values = header.filter(([name]) => name.toLowerCase() === signatureHeader.toLowerCase())
  return values.length > 0 ? values.map(([, value]) => value).join(', ') : undefined
}

function printVerdict(verdict: Verdict, keyCount: number): void {
  if (!verdict.ok) {
    print(colours.red(verdict.code))
    printNote('"geohook explain" finds the cause.')
  } else if (keyCount === 1) print(colours.green('verified'))
  else print(`${colours.green('verified')} with key ${verdict.keyIndex}, 0 being the newest`)
}
