import { Command } from 'commander'
import { sign } from '../../index.ts'
import { type CaptureFile, readCaptures } from '../captures/files.ts'
import { type CliError, EXIT, toCliError, usageError } from '../errors.ts'
import { endToEnd, exchange, type HeaderPairs } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, namesKey, requireKey } from '../options/keys.ts'
import { encodingOption } from '../options/signature.ts'
import { headerName, httpUrl, wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { count, paint, print, printJson } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import { startProgress } from '../terminal/progress.ts'

interface Options extends KeyOptions {
  to: URL
  resign?: true
  signatureHeader: string
  encoding: 'hex' | 'base64'
  prefix?: string
  count: number
  concurrency: number
  json?: true
}

interface Result {
  file: string
  status?: number
  error?: CliError
}

/** `geohook replay`: sends captures again. */
export function createReplayCommand(): Command {
  const command = new Command('replay')
    .summary('send captures again, as they were or re-signed')
    .description(
      'Sends captures again: the exact bytes with the headers they came with, or with a new signature. ' +
        'The exit code is 0 if all answers are 2xx, 1 if one is not, 3 if one never came.',
    )
    .argument('<captures...>', 'files that "geohook listen --save" wrote, or folders of them')
    .requiredOption('--to <url>', 'where to send them', httpUrl)
    .option('--resign', 'sign the bytes anew, with a key')
    .option(
      '--signature-header <name>',
      'with --resign: the header for the signature',
      headerName,
      'x-service',
    )
    .addOption(encodingOption())
    .option('--prefix <text>', 'with --resign: written before the signature, for example sha256=')
    .option('--count <n>', 'how many times to send each, 1 to 100000', wholeNumber(1, 100_000), 1)
    .option('--concurrency <n>', 'how many at a time, 1 to 100', wholeNumber(1, 100), 1)
    .option('--json', 'print JSON')
  addKeyOptions(command)
  addExamples(command, [
    'geohook replay captures --to http://127.0.0.1:3000/',
    'geohook replay captures --to http://127.0.0.1:3000/ --resign --key-file key.txt',
  ])
  return command.action(async (paths: string[], options: Options) => {
    const write = await createWriter(options)
    const captures = await readCaptures(paths)
    const results = await sendAll(captures, write, options)
    if (options.json) printJson({ results: results.map(toJson) })
    else print(paint.dim(`${count(results.filter(isGood).length, 'answer')} with 2xx, of ${results.length}`))
    const failed = results.filter((result) => !isGood(result))
    if (failed.length > 0) process.exitCode = failed.find(({ error }) => error)?.error?.exitCode ?? EXIT.no
  })
}

type Write = (capture: CaptureFile) => Promise<HeaderPairs>

/** The headers that a capture is sent with. */
async function createWriter({ resign, encoding, prefix, signatureHeader, ...keys }: Options): Promise<Write> {
  if (!resign) {
    if (namesKey(keys)) throw usageError('a key is of use with --resign only', 'Add --resign to sign anew.')
    return async ({ headers }) => endToEnd(headers)
  }
  const signatureKey = await requireKey(keys)
  return async ({ headers, body }) => [
    ...endToEnd(headers).filter(([name]) => name.toLowerCase() !== signatureHeader.toLowerCase()),
    [signatureHeader, await sign({ body, signatureKey, encoding, prefix })],
  ]
}

async function sendAll(
  captures: readonly CaptureFile[],
  write: Write,
  { to, count: times, concurrency, json }: Options,
): Promise<Result[]> {
  const results: Result[] = []
  const total = captures.length * times
  const queue = repeat(captures, times)
  const progress = startProgress('replaying', json === true)

  async function work(): Promise<void> {
    for (const job of queue) {
      const result = await sendOne(job, write, to)
      results.push(result)
      progress.update(`replaying, ${results.length} of ${total}`)
      if (json) continue
      progress.clear()
      tell(result)
    }
  }

  try {
    await Promise.all(Array.from({ length: concurrency }, work))
  } finally {
    progress.stop()
  }
  return results
}

/** Each so many times in a row. */
function* repeat(captures: readonly CaptureFile[], times: number): Generator<CaptureFile> {
  for (const capture of captures) for (let time = 0; time < times; time++) yield capture
}

/** One that fails does not keep the others from being sent. */
async function sendOne(capture: CaptureFile, write: Write, to: URL): Promise<Result> {
  const { file, method, body } = capture
  try {
    const { status } = await exchange(to, { method, headers: await write(capture), body })
    return { file, status }
  } catch (error) {
    return { file, error: toCliError(error) }
  }
}

const isGood = ({ status = 0 }: Result): boolean => status >= 200 && status < 300

function tell(result: Result): void {
  const { file, status, error } = result
  const outcome = isGood(result) ? paint.green(String(status)) : paint.red(String(status ?? '---'))
  print(`${outcome}  ${printable(file)}${error ? `  ${printable(error.message)}` : ''}`)
}

const toJson = ({ file, status, error }: Result): object =>
  error ? { file, error: { code: error.code, message: error.message } } : { file, status }
