import { setTimeout as pause } from 'node:timers/promises'
import { Command, Option } from 'commander'
import { arcgis, createReceiver, type SignatureEncoding, service } from '../../index.ts'
import { type Capture, requireFolder, saveCapture, toCaptureFile } from '../captures/files.ts'
import { withoutSecrets } from '../captures/redact.ts'
import { EXIT, usageError } from '../errors.ts'
import { startServer, untilStopped } from '../io/server.ts'
import { addKeyOptions, type KeyOptions, readKeys, requireKeys } from '../options/keys.ts'
import { profileOption } from '../options/signature.ts'
import { byteSize, headerName, httpUrl, port, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { note, paint, print, printJson } from '../terminal/output.ts'
import { printable, shortened, toPrintableJson } from '../terminal/printable.ts'
import { comesBack } from './forward.ts'
import { createQueue } from './queue.ts'
import { explainReception, findingOf, type ReportOptions, tellReception } from './report.ts'
import { type Accepted, createReception, keepIn, type Reception } from './request-listener.ts'

interface Options extends KeyOptions {
  port: number
  host: string
  path?: string
  profile: 'service' | 'arcgis'
  signatureHeader?: string
  encoding: SignatureEncoding
  limit: number
  unsigned: 'reject' | 'accept'
  save?: string
  forwardTo?: URL
  forwardRefused?: true
  count?: number
  once?: true
  json?: true
}

/** `geohook listen`: a receiver that tells what it gets. */
export function createListenCommand(): Command {
  const command = new Command('listen')
    .summary('receive deliveries, and tell of each')
    .description(
      'Starts a receiver, and prints each delivery as it comes: verified, or refused and why. ' +
        'It can save what it gets, and pass the exact bytes on to another address; then the sender gets the answer ' +
        'of that address, or 502 where it does not answer.',
    )
    .option('--port <n>', 'the port; 0 takes a free one', port, 3000)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--path <path>', 'answer other paths with 404 (default: every path is taken)')
    .addOption(profileOption())
    .option('--signature-header <name>', 'the header with the signature', headerName)
    .addOption(
      new Option('--encoding <name>', 'how signatures are written')
        .choices(['auto', 'hex', 'base64'])
        .default('auto'),
    )
    .addOption(
      new Option('--limit <size>', 'the largest body, for example 512kb')
        .argParser(byteSize)
        .default(1024 ** 2, '1mb'),
    )
    .addOption(
      new Option('--unsigned <what>', 'accept lets requests without a signature through: only before 11.2')
        .choices(['reject', 'accept'])
        .default('reject'),
    )
    .option('--save <folder>', 'save each request there as a capture, for replay and explain')
    .option('--forward-to <url>', 'pass verified deliveries on, as they are', httpUrl)
    .option('--forward-refused', 'pass refused requests on too')
    .option('--count <n>', 'end after n requests; the exit code is 1 if one was refused', wholeNumber(1, 1e9))
    .option('--once', 'the same as --count 1')
    .option('--json', 'print a line of JSON for each request')
  addKeyOptions(command, { several: true })
  addExamples(command, [
    'geohook listen --key-file key.txt',
    'geohook listen --port 8080 --key-file new.txt --key-file old.txt --save captures',
    'geohook listen --key-env WEBHOOK_KEY --forward-to http://127.0.0.1:8000/hooks/parcels',
  ])
  return command.action(listen)
}

async function listen(options: Options): Promise<void> {
  const { limit, encoding, unsigned, path, forwardTo, forwardRefused } = options
  if (forwardRefused && !forwardTo) throw usageError('--forward-refused goes with --forward-to')
  if (path !== undefined && !/^\/[^?#]*$/.test(path))
    throw usageError('--path must begin with /, and has no ? and no #')
  if (options.host === '') throw usageError('--host is empty', 'Give an address of this machine.')
  const profile = options.profile === 'arcgis' ? arcgis : service
  const signatureHeader = options.signatureHeader ?? profile.signatureHeader
  const signatureKey = await (unsigned === 'accept' ? readKeys(options) : requireKeys(options))
  const keys = signatureKey.length > 0 ? { signatureKey } : {}
  const accepted: Accepted = new WeakMap()
  const observer = keepIn(accepted)
  const receiver = createReceiver({ ...keys, profile, signatureHeader, encoding, limit, unsigned, observer })
  const json = options.json === true
  const reporter = createReporter(options, { signatureKey, signatureHeader, encoding, json })
  const stopping = new AbortController()
  const reception = createReception({
    receiver,
    accepted,
    limit,
    path,
    forwardTo,
    forwardRefused,
    stop: stopping.signal,
    report: reporter.report,
    missed(url) {
      if (!json) note(paint.dim(`404 for ${shortened(url)}: --path is ${path}`))
    },
  })
  if (options.save !== undefined) await requireFolder(options.save)
  // Before anybody is told that it listens, and may want to stop it.
  const stopped = untilStopped()
  const server = await startServer(reception, options.port, options.host)
  const url = server.url + (path ?? '/')
  if (options.json) printJson({ event: 'listening', url }, 0)
  else print(`listening on ${paint.bold(url)}${paint.dim(' (Ctrl-C ends it)')}`)
  if (forwardTo && comesBack(forwardTo, server.url)) {
    await server.close()
    throw usageError(
      '--forward-to is the address that it listens on',
      'Each delivery would go round for ever.',
    )
  }
  await Promise.race([stopped, reporter.enough])
  reporter.stop()
  const answered = receiver.close()
  // Whoever does not read an answer, or does not give one, must not hold this back.
  await Promise.race([answered, pause(GRACE, undefined, { ref: false })])
  stopping.abort()
  await server.close()
  await answered
  await reporter.close()
}

/** Milliseconds that answers and forwarded deliveries get to end after a stop. */
const GRACE = 3_000
/** Requests that wait to be told of. More come only from somebody who floods; they are told, but not explained. */
const MAX_WAITING = 20

/** Saves, explains and tells of requests one after another, in the order in which they were answered. */
function createReporter({ save, count, once, json }: Options, options: ReportOptions) {
  const queue = createQueue()
  const wanted = once ? 1 : count
  let number = 0
  let isStopping = false
  let stop = (): void => {}
  const enough = new Promise<void>((resolve) => {
    stop = resolve
  })

  async function tell(reception: Reception, isExplained: boolean, index: number): Promise<void> {
    const capture = save === undefined ? undefined : await keep(save, reception, index)
    const diagnosis = isExplained && !isStopping ? await explainReception(reception, options) : undefined
    tellReception(reception, options, diagnosis, capture)
  }

  return {
    enough,
    report(reception: Reception) {
      if (wanted !== undefined && number >= wanted) return
      const index = ++number
      const isExplained = queue.size < MAX_WAITING
      queue.add(() => tell(reception, isExplained, index))
      if (wanted === undefined) return
      if (findingOf(reception) === 'refused') process.exitCode = EXIT.no
      if (number >= wanted) stop()
    },
    /** From now on nothing is explained. */
    stop() {
      isStopping = true
    },
    close: () => queue.idle(),
  }

  /** A full disk must not end a receiver. */
  async function keep(folder: string, reception: Reception, index: number): Promise<string | undefined> {
    const { receivedAt, headers, body, outcome, status } = reception
    if (!body) return undefined
    const code = outcome.error?.code
    try {
      const capture: Capture = {
        ...reception,
        headers: withoutSecrets(headers, options.signatureKey),
        receivedAt: receivedAt.toISOString(),
        body,
        outcome: code === undefined ? { status } : { status, code },
      }
      const label = `${String(index).padStart(4, '0')}-${code ?? findingOf(reception)}`
      const file = toCaptureFile(folder, capture, label)
      await saveCapture(file, capture)
      return file
    } catch (error) {
      const message = `cannot save a capture in ${folder}: ${(error as NodeJS.ErrnoException).code}`
      note(json ? toPrintableJson({ error: { code: 'save_failed', message, hint: '' } }) : printable(message))
      return undefined
    }
  }
}
