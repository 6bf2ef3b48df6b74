import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { usageError } from '../errors.ts'
import { wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'

interface Options {
  bytes: number
  out?: string
}

export function createKeyCommand(io: Io): Command {
  const command = new Command('key')
    .summary('generate a strong signature key')
    .description(
      'Generates a random signature key in hex, because the specification requires alphanumeric text. ' +
        'Use the same text for the webhook and the receiver.',
    )
    .option('--bytes <n>', 'number of random bytes, 16 to 512', wholeNumber(16, 512), 32)
    .option('--out <path>', 'write the key to a new file that only you can read, instead of printing it')
    .option('--json', 'print JSON')
  addExamples(command, ['geohook key', 'geohook key --out key.txt'])
  return command.action(async ({ bytes, out }: Options) => {
    const signatureKey = randomBytes(bytes).toString('hex')
    if (out === undefined) {
      if (io.json) io.printJson({ signatureKey })
      else io.print(signatureKey)
      return
    }
    await writeKey(out, signatureKey)
    if (io.json) io.printJson({ file: out })
    else io.print(`wrote a new key to ${out}`)
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
