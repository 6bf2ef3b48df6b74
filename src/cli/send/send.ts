import { Command } from 'commander'
import { service } from '../../index.ts'
import { createPayload, createSigner } from '../../testing/index.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput, readText } from '../io/files.ts'
import { type HeaderPairs, sendRequest } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/keys.ts'
import { writtenEncodingOption } from '../options/signature.ts'
import { collect, headerLine, headerName, httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { colours, count, print, printJson } from '../terminal/output.ts'
import { shortened } from '../terminal/printable.ts'
import { withProgress } from '../terminal/progress.ts'
import { type CaOptions, caOption, readTrust } from '../tls/trust.ts'

interface Options extends KeyOptions, CaOptions {
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

export function createSendCommand(): Command {
  const command = new Command('send')
    .summary('sign a file and post it to a receiver')
    .description(
      'Signs the exact bytes of a file, or of a generated payload, and posts them. ' +
        'The exit code is 0 for a 2xx response, 1 for any other, and 3 without a response.',
    )
    .argument('[file]', 'file that contains the body; - reads standard input')
    .requiredOption('--to <url>', 'payload URL of the receiver', httpUrl)
    .option(
      '--change-type <name>',
      'generate a payload with this event instead of reading a file; repeatable',
      collect,
    )
    .option('--form', 'send a form with the JSON in its field payload')
    .option(
      '--content-type <type>',
      'content type of the request (default: application/json, or that of a form with --form)',
    )
    .option('--header <line>', "additional header, as 'name: value'; repeatable", headerLine)
    .option('--signature-header <name>', 'header for the signature', headerName, service.signatureHeader)
    .addOption(writtenEncodingOption())
    .option('--prefix <text>', 'text before the signature, for example sha256=')
    .option('--json', 'print JSON')
  addKeyOptions(command)
  command.addOption(caOption())
  addExamples(command, [
    'geohook send --change-type FeaturesCreated --to http://127.0.0.1:3000/ --key-file key.txt',
    'geohook send body.json --to http://127.0.0.1:3000/ --key-file key.txt',
  ])
  return command.action(async (file: string | undefined, options: Options) => {
    const signatureKey = await requireKey(options)
    const trust = await readTrust(options)
    const { encoding, prefix, signatureHeader, form } = options
    const contentType = form ? FORM : 'application/json'
    const signer = createSigner({ signatureKey, encoding, prefix, signatureHeader, contentType })
    const { method, headers, bytes } = await signer.sign(await readPayload(file, options))
    if (options.contentType !== undefined) headers['content-type'] = options.contentType
    const lines = [...Object.entries(headers), ...(options.header ?? [])]
    const answer = await withProgress(`waiting for ${options.to.origin}`, options.json === true, () =>
      sendRequest(options.to, { method, headers: lines, body: bytes }, { trust }),
    )
    const { status } = answer
    const text = answer.body.toString()
    if (options.json) printJson({ status, bytes: bytes.length, answer: text })
    else {
      const colour = isSuccess(status) ? colours.green : colours.red
      print(`${colour(status)}  ${shortened(text, 200)}`.trimEnd())
      print(colours.dim(`sent ${count(bytes.length, 'byte')}`))
    }
    if (!isSuccess(status)) process.exitCode = EXIT.failure
  })
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

async function readPayload(file: string | undefined, { changeType, form }: Options): Promise<unknown> {
  if (changeType) {
    if (file !== undefined) throw usageError('give either a file or --change-type')
    return createPayload(changeType)
  }
  if (file === undefined)
    throw usageError('the body is missing', 'Give a file, - for standard input, or --change-type.')
  return form ? readText(file) : readInput(file)
}
