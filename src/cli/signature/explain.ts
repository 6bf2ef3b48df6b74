import { Command } from 'commander'
import { arcgis, type Diagnosis, explain } from '../../index.ts'
import { readCaptures } from '../captures/files.ts'
import { noteOn } from '../captures/redact.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import type { HeaderPairs } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, requireRawKeys } from '../options/keys.ts'
import { profileOption } from '../options/signature.ts'
import { headerLine, headerName } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { paint, print, printJson } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import { withProgress } from '../terminal/progress.ts'

interface Options extends KeyOptions {
  body?: string
  header?: HeaderPairs
  signatureHeader?: string
  profile: 'service' | 'arcgis'
  json?: true
}

interface Request {
  file: string
  headers: HeaderPairs
  body: Uint8Array
}

interface Explained extends Diagnosis {
  file: string
  note: string | undefined
}

/** `geohook explain`: why a signature does not match. */
export function createExplainCommand(): Command {
  const command = new Command('explain')
    .summary('find out why a signature does not match')
    .description(
      'Tries what is known to go wrong between a sender and a receiver, and names a cause only if recomputing ' +
        'the signature proves it. Keys are taken as they are: white space around them is one of the causes. ' +
        'The exit code is 0 if all signatures are right, else 1.',
    )
    .argument('[captures...]', 'files that "geohook listen --save" wrote, or folders of them')
    .option('--body <file>', 'in place of captures: the body; - reads the standard input')
    .option(
      '--header <line>',
      "with --body: a header as 'name: value'; repeat it for all of them",
      headerLine,
    )
    .option('--signature-header <name>', 'the header that should have the signature', headerName)
    .addOption(profileOption())
    .option('--json', 'print JSON')
  addKeyOptions(command, { several: true })
  addExamples(command, [
    'geohook explain captures --key-file key.txt',
    "geohook explain --body body.json --header 'x-service: 3f1c0a9b' --key-file key.txt",
  ])
  return command.action(async (paths: string[], options: Options) => {
    const signatureKey = await requireRawKeys(options)
    const signatureHeader =
      options.signatureHeader ?? (options.profile === 'arcgis' ? arcgis.signatureHeader : undefined)
    const requests = await readRequests(paths, options)
    requests.forEach(requireExplainable)
    const diagnoses: Explained[] = []
    await withProgress('explaining', options.json === true, async (progress) => {
      for (const { file, headers, body } of requests) {
        progress.update(`explaining ${diagnoses.length + 1} of ${requests.length}`)
        const diagnosis = await explain({ body, headers, signatureKey, signatureHeader })
        diagnoses.push({ file, ...diagnosis, note: noteOn(diagnosis, headers) })
      }
    })
    if (options.json) printJson({ diagnoses })
    else for (const diagnosis of diagnoses) tell(diagnosis)
    if (diagnoses.some(({ ok }) => !ok)) process.exitCode = EXIT.no
  })
}

async function readRequests(paths: readonly string[], { body, header }: Options): Promise<Request[]> {
  if (body === undefined) {
    if (header) throw usageError('--header goes with --body', 'A capture has its own headers.')
    if (paths.length === 0)
      throw usageError('there is nothing to explain', 'Give captures, or --body and --header.')
    return readCaptures(paths)
  }
  if (paths.length > 0) throw usageError('give either captures or --body')
  return [{ file: body, headers: header ?? [], body: await readInput(body) }]
}

/** Explaining takes many copies of a body. */
const MAX_EXPLAINED = 8 * 1024 * 1024

/** @throws {CliError} exit code 2 */
function requireExplainable({ file, body }: Request): void {
  if (body.length > MAX_EXPLAINED)
    throw usageError(`${file}: a body of more than 8 MiB cannot be explained`, 'Take a smaller delivery.')
}

/** The evidence names headers and fields of the request, which a stranger may have chosen. */
function tell({ file, ok, cause, evidence, fix, note }: Explained): void {
  print(paint.bold(printable(file)))
  print(`  cause     ${ok ? paint.green(cause) : paint.red(cause)}`)
  print(`  evidence  ${printable(evidence)}`)
  print(`  fix       ${fix}`)
  if (note) print(`  note      ${note}`)
}
