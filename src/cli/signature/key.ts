import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { usageError } from '../errors.ts'
import { wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { print, printJson } from '../terminal/output.ts'

interface Options {
  bytes: number
  out?: string
  json?: true
}

/** `geohook key`: a new key. */
export function createKeyCommand(): Command {
  const command = new Command('key')
    .summary('make a strong signature key')
    .description(
      'Makes a signature key of random bytes, written in hex: the specification asks for an alphanumeric text. ' +
        'Give the same text to the webhook and to the receiver.',
    )
    .option('--bytes <n>', 'how many random bytes, 16 to 512', wholeNumber(16, 512), 32)
    .option('--out <path>', 'write the key to a new file that only you may read, and do not print it')
    .option('--json', 'print JSON')
  addExamples(command, ['geohook key', 'geohook key --out key.txt'])
  return command.action(async ({ bytes, out, json }: Options) => {
    const signatureKey = randomBytes(bytes).toString('hex')
    if (out === undefined) {
      if (json) printJson({ signatureKey })
      else print(signatureKey)
      return
    }
    await writeKey(out, signatureKey)
    if (json) printJson({ file: out })
    else print(`wrote a new key to ${out}`)
  })
}

async function writeKey(path: string, key: string): Promise<void> {
  try {
    await writeFile(path, `${key}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw usageError(
        `${path} is there already`,
        'A key is never written over: it may be in use. Take another name.',
      )
    }
    throw usageError(`cannot write ${path}: ${message.split(':')[0]}`)
  }
}
