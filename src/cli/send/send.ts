import { Command } from 'commander'
import { service } from '../../index.ts'
import { createPayload, createSigner, type PayloadDetails } from '../../testing/index.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput, readText } from '../io/files.ts'
import { type HeaderPairs, isSuccess, sendRequest } from '../io/http.ts'
import { type CaOptions, caOption, readTrust } from '../options/ca.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/keys.ts'
import { headerLine, httpUrl } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { count, type Io } from '../terminal/io.ts'
import { addSenderOptions, type SenderOptions, toSender } from './sender-options.ts'

interface Options extends KeyOptions, SenderOptions, CaOptions {
  to: URL
  contentType?: string
  header?: HeaderPairs
}

export function createSendCommand(io: Io): Command {
  const command = new Command('send')
    .summary('sign a file and post it to a receiver')
    .description(
      'Signs the exact bytes of a file, or of a generated payload, and posts them, as services, hosted services or organizations do. ' +
        'The exit code is 0 for a 2xx response, 1 for any other, and 3 without a response.',
    )
    .argument('[file]', 'file that contains the body; - reads standard input')
    .requiredOption('--to <url>', 'payload URL of the receiver', httpUrl)
    .option(
      '--content-type <type>',
      'content type of the request (default: application/json, or that of a form with --form)',
    )
    .option('--header <line>', "additional header, as 'name: value'; repeatable", headerLine(io))
    .option('--json', 'print JSON')
  addSenderOptions(command)
  addKeyOptions(command)
  command.addOption(caOption())
  addExamples(command, [
    'geohook send --change-type FeaturesCreated --to http://127.0.0.1:3000/ --key-file key.txt',
    'geohook send --change-type FeaturesCreated --dialect hosted --form --to http://127.0.0.1:3000/ --key-file key.txt',
    'geohook send --change-type add --dialect organization --to http://127.0.0.1:3000/ --key-file key.txt',
    'geohook send body.json --to http://127.0.0.1:3000/ --key-file key.txt',
  ])
  return command.action(async (file: string | undefined, options: Options) => {
    const { signer, details, secretHeader } = toSender(options)
    const signatureKey = await requireKey(io, options)
    const trust = await readTrust(io, options)
    const payload = await readPayload(io, file, options, details)
    const { method, headers, bytes } = await createSigner({ ...signer, signatureKey }).sign(payload)
    if (secretHeader !== undefined) {
      delete headers[service.signatureHeader]
      headers[secretHeader] = Buffer.from(signatureKey).toString('latin1') // one character per byte
    }
    if (options.contentType !== undefined) headers['content-type'] = options.contentType
    const lines = [...Object.entries(headers), ...(options.header ?? [])]
    const answer = await io.withProgress(`waiting for ${options.to.origin}`, () =>
      sendRequest(options.to, { method, headers: lines, body: bytes }, { trust }),
    )
    const { status } = answer
    const text = answer.body.toString()
    if (io.json) io.printJson({ status, bytes: bytes.length, answer: text })
    else {
      const colour = isSuccess(status) ? io.colours.green : io.colours.red
      io.print(`${colour(status)}  ${io.shortened(text, 200)}`.trimEnd())
      io.print(io.colours.dim(`sent ${count(bytes.length, 'byte')}`))
    }
    if (!isSuccess(status)) io.exitCode = EXIT.failure
  })
}

async function readPayload(
  io: Io,
  file: string | undefined,
  { changeType, form }: Options,
  details: PayloadDetails,
): Promise<unknown> {
  if (changeType) {
    if (file !== undefined) throw usageError('give either a file or --change-type')
    return createPayload(changeType, details)
  }
  if (file === undefined)
    throw usageError('the body is missing', 'Give a file, - for standard input, or --change-type.')
  return form ? readText(io, file) : readInput(io, file)
}
