import type { Command } from 'commander'
import { service, sign } from '../../index.ts'
import { endToEnd, type HeaderPairs } from '../../shared/headers.ts'
import { isSuccess } from '../../shared/status.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { count } from '../../shared/words.ts'
import { type CliError, EXIT, toCliError, usageError } from '../errors.ts'
import { type CaptureFile, readCaptures } from '../io/captures.ts'
import { sendRequest } from '../io/http.ts'
import { addCaOption, type CaOptions, readTrust } from '../options/ca.ts'
import { CliCommand } from '../options/command.ts'
import { addKeyOptions, hasKeyOption, type KeyOptions, requireKey } from '../options/secrets.ts'
import { headerName, httpUrl, wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'

interface Options extends KeyOptions, CaOptions {
  to: URL
  resign?: true
  signatureHeader: string
  encoding: 'hex' | 'base64'
  prefix?: string
  count: number
  concurrency: number
}

/** What to print for each outcome with 2xx of a geohook receiver, whose response is `{"status":"<outcome>"}`. */
const OUTCOMES = {
  handled: '',
  stored: 'stored: handlers run later',
  duplicate: 'duplicate: no handler ran',
  unhandled: 'unhandled: no handler for its change types',
}

type Outcome = keyof typeof OUTCOMES

interface Result {
  file: string
  status?: number
  /** Outcome of the delivery, if the receiver is a geohook receiver. */
  outcome?: Outcome
  error?: CliError
}

export function createReplayCommand(io: Io): Command {
  return new CliCommand('replay')
    .summary('send captures again, unchanged or re-signed')
    .description(
      'Sends captures again: the exact bytes with their original headers, or with a new signature. ' +
        'If the receiver uses geohook, it also marks duplicates and unhandled deliveries, for which no handler ran. ' +
        'The exit code is 0 if all responses are 2xx, 1 if one is not, and 3 if there was no response.',
    )
    .argument('<captures...>', 'files written by "geohook listen --save", or folders of them')
    .requiredOption('--to <url>', 'URL to send them to', httpUrl)
    .option('--resign', 'replace the signature; requires a key')
    .option(
      '--signature-header <name>',
      'with --resign: header for the signature',
      headerName,
      service.signatureHeader,
    )
    .choice('--encoding <name>', 'encoding of the signature', ['hex', 'base64'], 'hex')
    .option('--prefix <text>', 'with --resign: text before the signature, for example sha256=')
    .option('--count <n>', 'how often to send each capture, 1 to 100000', wholeNumber(1, 100_000), 1)
    .option('--concurrency <n>', 'maximum number of concurrent requests, 1 to 100', wholeNumber(1, 100), 1)
    .option('--json', 'print JSON')
    .with(addKeyOptions)
    .with(addCaOption)
    .examples(
      'geohook replay captures --to http://127.0.0.1:3000/',
      'geohook replay captures --to http://127.0.0.1:3000/ --resign --key-file key.txt',
    )
    .action(async (paths: string[], options: Options) => {
      const toHeaders = await createHeaders(io, options)
      const trust = await readTrust(io, options)
      const captures = await readCaptures(io, paths)
      const results = await sendAll(io, captures, { toHeaders, trust }, options)
      const failed = results.filter((result) => !isSuccess(result.status))
      const succeeded = results.length - failed.length
      const text = `${count(succeeded, 'response')} with 2xx, of ${results.length}${withoutHandler(results)}`
      io.printResult({ results: results.map(toJson) }, io.colours.dim(text))
      if (failed.length > 0) io.exitCode = failed.find(({ error }) => error)?.error?.exitCode ?? EXIT.failure
    })
}

/** How captures are sent. */
interface Sending {
  toHeaders: ToHeaders
  trust: Trust
}

type ToHeaders = (capture: CaptureFile) => Promise<HeaderPairs>

/** Returns a function that takes a capture and returns the headers to send with it. */
async function createHeaders(
  io: Io,
  { resign, encoding, prefix, signatureHeader, ...keys }: Options,
): Promise<ToHeaders> {
  if (!resign) {
    if (hasKeyOption(keys))
      throw usageError('a key requires --resign', 'Add --resign to replace the signature.')
    return async ({ headers }) => endToEnd(headers)
  }
  const signatureKey = await requireKey(io, keys)
  return async ({ headers, body }) => [
    ...endToEnd(headers).filter(([name]) => name.toLowerCase() !== signatureHeader.toLowerCase()),
    [signatureHeader, await sign({ body, signatureKey, encoding, prefix })],
  ]
}

async function sendAll(
  io: Io,
  captures: readonly CaptureFile[],
  sending: Sending,
  { to, count: times, concurrency }: Options,
): Promise<Result[]> {
  const results: Result[] = []
  const total = captures.length * times
  const pending = repeatEach(captures, times)
  const progress = io.startProgress('replaying')

  async function work(): Promise<void> {
    for (const capture of pending) {
      const result = await sendOne(capture, sending, to)
      results.push(result)
      progress.update(`replaying, ${results.length} of ${total}`)
      if (io.json) continue
      progress.clear()
      printResult(io, result)
    }
  }

  try {
    // All calls of work() share one iterator, so together they send each capture exactly `times` times.
    await Promise.all(Array.from({ length: concurrency }, work))
  } finally {
    progress.stop()
  }
  return results
}

function* repeatEach(captures: readonly CaptureFile[], times: number): Generator<CaptureFile> {
  for (const capture of captures) for (let time = 0; time < times; time++) yield capture
}

/** Sends a capture. Never rejects, so that a failure does not stop the remaining captures. */
async function sendOne(capture: CaptureFile, { toHeaders, trust }: Sending, to: URL): Promise<Result> {
  const { file, method, body } = capture
  try {
    const request = { method, headers: await toHeaders(capture), body }
    const response = await sendRequest(to, request, { trust })
    const { status } = response
    const outcome = outcomeOf(response.body)
    return outcome && isSuccess(status) ? { file, status, outcome } : { file, status }
  } catch (error) {
    return { file, error: toCliError(error) }
  }
}

function outcomeOf(body: Buffer): Outcome | undefined {
  const [, word = ''] = /^\{"status":"([a-z]{1,20})"\}$/.exec(body.toString('latin1', 0, 64)) ?? []
  return Object.hasOwn(OUTCOMES, word) ? (word as Outcome) : undefined
}

/** Returns for example `; no handler ran for 2 duplicates and 1 unhandled`, or an empty string. */
function withoutHandler(results: readonly Result[]): string {
  const duplicates = results.filter(({ outcome }) => outcome === 'duplicate').length
  const unhandled = results.filter(({ outcome }) => outcome === 'unhandled').length
  const parts = [duplicates && count(duplicates, 'duplicate'), unhandled && `${unhandled} unhandled`].filter(
    Boolean,
  )
  return parts.length > 0 ? `; no handler ran for ${parts.join(' and ')}` : ''
}

function printResult(io: Io, result: Result): void {
  const { file, status, outcome, error } = result
  const reason = error ? printable(error.message) : outcome && OUTCOMES[outcome]
  io.print(`${io.toStatus(status)}  ${printable(file)}${reason ? `  ${reason}` : ''}`)
}

const toJson = ({ error, ...result }: Result): object =>
  error ? { file: result.file, error: { code: error.code, message: error.message } } : result
