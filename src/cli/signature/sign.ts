import { Command } from 'commander'
import { sign } from '../../index.ts'
import { readInput } from '../io/files.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/keys.ts'
import { writtenEncodingOption } from '../options/signature.ts'
import { addExamples } from '../terminal/help.ts'
import { print, printJson } from '../terminal/output.ts'

interface Options extends KeyOptions {
  encoding: 'hex' | 'base64'
  prefix?: string
  json?: true
}

export function createSignCommand(): Command {
  const command = new Command('sign')
    .summary('print the signature of a file')
    .description('Prints the HMAC-SHA256 signature of the exact bytes of a file.')
    .argument('<file>', 'file that contains the body; - reads standard input')
    .addOption(writtenEncodingOption())
    .option('--prefix <text>', 'text before the signature, for example sha256=')
    .option('--json', 'print JSON')
  addKeyOptions(command)
  addExamples(command, [
    'geohook sign body.json --key-file key.txt',
    "geohook sign - --key-env WEBHOOK_KEY --encoding base64 --prefix 'sha256='",
  ])
  return command.action(async (file: string, { encoding, prefix, json, ...keys }: Options) => {
    const signatureKey = await requireKey(keys)
    const signature = await sign({ body: await readInput(file), signatureKey, encoding, prefix })
    if (json) printJson({ signature })
    else print(signature)
  })
}
