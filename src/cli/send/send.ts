import { Command } from 'commander'
import { createPayload, createSigner } from '../../testing/index.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput, readText } from '../io/files.ts'
import { exchange, type HeaderPairs } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/keys.ts'
import { encodingOption } from '../options/signature.ts'
import { collect, headerLine, headerName, httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { count, paint, print, printJson } from '../terminal/output.ts'
import { shortened } from '../terminal/printable.ts'
import { withProgress } from '../terminal/progress.ts'

interface Options extends KeyOptions {
  to: URL
  changeType?: string[]
  form?: true
  contentType?: string
  header?: HeaderPairs
  signatureHeader: string
  encoding: 'hex' | 'base64'
  prefix?: string
  json?: true
}

const FORM = 'application/x-www-form-urlencoded'

/** `geohook send`: signs and posts, as a service does. */
export function createSendCommand(): Command {
  const command = new Command('send')
    .summary('sign a file and post it to a receiver')
    .description(
      'Signs the exact bytes of a file, or a payload that it makes, and posts them. ' +
        'The exit code is 0 if the answer is 2xx, 1 if it is another, 3 if there is none.',
    )
    .argument('[file]', 'the body; - reads the standard input')
    .requiredOption('--to <url>', 'the payload URL', httpUrl)
    .option(
      '--change-type <name>',
      'in place of a file: a payload with this event; repeat it for more',
      collect,
    )
    .option('--form', 'send a form that carries the JSON in its field payload')
    .option('--content-type <type>', 'the content type (default: application/json, or a form with --form)')
    .option('--header <line>', "another header, as 'name: value'; repeat it for more", headerLine)
    .option('--signature-header <name>', 'the header for the signature', headerName, 'x-service')
    .addOption(encodingOption())
    .option('--prefix <text>', 'written before the signature, for example sha256=')
    .option('--json', 'print JSON')
  addKeyOptions(command)
  addExamples(command, [
    'geohook send --change-type FeaturesCreated --to http://127.0.0.1:3000/ --key-file key.txt',
    'geohook send body.json --to http://127.0.0.1:3000/ --key-file key.txt',
  ])
  return command.action(async (file: string | undefined, options: Options) => {
    const signatureKey = await requireKey(options)
    const { encoding, prefix, signatureHeader, form } = options
    const contentType = form ? FORM : 'application/json'
    const signer = createSigner({ signatureKey, encoding, prefix, signatureHeader, contentType })
    const signed = await signer.sign(await readPayload(file, options))
    if (options.contentType !== undefined) signed.headers['content-type'] = options.contentType
    const headers = [...Object.entries(signed.headers), ...(options.header ?? [])]
    const { status, body } = await withProgress(
      `waiting for ${options.to.origin}`,
      options.json === true,
      () => exchange(options.to, { ...signed, headers }),
    )
    const answer = body.toString()
    if (options.json) printJson({ status, bytes: signed.body.length, answer })
    else {
      const isGood = status >= 200 && status < 300
      print(`${isGood ? paint.green(status) : paint.red(status)}  ${shortened(answer, 200)}`.trimEnd())
      print(paint.dim(`sent ${count(signed.body.length, 'byte')}`))
    }
    if (status < 200 || status > 299) process.exitCode = EXIT.no
  })
}

async function readPayload(file: string | undefined, { changeType, form }: Options): Promise<unknown> {
  if (changeType) {
    if (file !== undefined) throw usageError('give either a file or --change-type')
    return createPayload(changeType)
  }
  if (file === undefined) throw usageError('there is nothing to send', 'Give a file, - or --change-type.')
  return form ? readText(file) : readInput(file)
}
