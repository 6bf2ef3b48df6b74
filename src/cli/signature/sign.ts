import { Command } from 'commander'
import { sign } from '../../index.ts'
import { readInput } from '../io/files.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/keys.ts'
import { writtenEncodingOption } from '../options/signature.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'

interface Options extends KeyOptions {
  encoding: 'hex' | 'base64'
  prefix?: string
}

export function createSignCommand(io: Io): Command {
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
  return command.action(async (file: string, { encoding, prefix, ...keys }: Options) => {
    const signatureKey = await requireKey(io, keys)
    const signature = await sign({ body: await readInput(io, file), signatureKey, encoding, prefix })
    if (io.json) io.printJson({ signature })
    else io.print(signature)
  })
}
