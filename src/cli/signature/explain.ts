import { Command } from 'commander'
import { type Diagnosis, explain } from '../../index.ts'
import { readCaptures } from '../captures/files.ts'
import { noteOnSecretHeader } from '../captures/redact.ts'
import { EXIT, usageError } from '../errors.ts'
import { readInput } from '../io/files.ts'
import type { HeaderPairs } from '../io/http.ts'
import { addKeyOptions, type KeyOptions, requireUncheckedKeys } from '../options/keys.ts'
import { PROFILES, type ProfileName, profileOption } from '../options/signature.ts'
import { headerLine, headerName } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { colours, print, printJson } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import { withProgress } from '../terminal/progress.ts'

interface Options extends KeyOptions {
  body?: string
  header?: HeaderPairs
  signatureHeader?: string
  profile: ProfileName
  json?: true
}

/** A request to explain, with the file that contains it. */
interface StoredRequest {
  file: string
  headers: HeaderPairs
  body: Uint8Array
}

interface FileDiagnosis extends Diagnosis {
  file: string
  note: string | undefined
}

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .summary('find out why a signature does not match')
    .description(
      'Tries known mistakes of senders and receivers, and names one as the cause only if recomputing the ' +
        'signature proves it. Keys are not trimmed, because white space around them is one of the causes. ' +
        'The exit code is 0 if all signatures match, otherwise 1.',
    )
    .argument('[captures...]', 'files written by "geohook listen --save", or folders of them')
    .option('--body <file>', 'file that contains the body, instead of captures; - reads standard input')
    .option(
      '--header <line>',
      "with --body: a header, as 'name: value'; repeat it for each header",
      headerLine,
    )
    .option(
      '--signature-header <name>',
      "header that should contain the signature (default: the profile's)",
      headerName,
    )
    .addOption(profileOption())
    .option('--json', 'print JSON')
  addKeyOptions(command, { several: true })
  addExamples(command, [
    'geohook explain captures --key-file key.txt',
    "geohook explain --body body.json --header 'x-service: 3f1c0a9b' --key-file key.txt",
  ])
  return command.action(async (paths: string[], options: Options) => {
    const signatureKey = await requireUncheckedKeys(options)
    const signatureHeader = options.signatureHeader ?? PROFILES[options.profile].signatureHeader
    const requests = await readRequests(paths, options)
    requests.forEach(requireExplainable)
    const diagnoses: FileDiagnosis[] = []
    await withProgress('explaining', options.json === true, async (progress) => {
      for (const { file, headers, body } of requests) {
        progress.update(`explaining ${diagnoses.length + 1} of ${requests.length}`)
        const diagnosis = await explain({ body, headers, signatureKey, signatureHeader })
        diagnoses.push({ file, ...diagnosis, note: noteOnSecretHeader(diagnosis, headers) })
      }
    })
    if (options.json) printJson({ diagnoses })
    else for (const diagnosis of diagnoses) printDiagnosis(diagnosis)
    if (diagnoses.some(({ ok }) => !ok)) process.exitCode = EXIT.failure
  })
}

async function readRequests(paths: readonly string[], { body, header }: Options): Promise<StoredRequest[]> {
  if (body === undefined) {
    if (header) throw usageError('--header requires --body', 'A capture contains its headers.')
    if (paths.length === 0)
      throw usageError('there is nothing to explain', 'Give captures, or --body and --header.')
    return readCaptures(paths)
  }
  if (paths.length > 0) throw usageError('give either captures or --body')
  return [{ file: body, headers: header ?? [], body: await readInput(body) }]
}

/** Maximum body size in bytes. It is limited because explaining creates many copies of the body. */
const MAX_EXPLAINED = 8 * 1024 * 1024

/** @throws {CliError} exit code 2 if the body is too large */
function requireExplainable({ file, body }: StoredRequest): void {
  if (body.length > MAX_EXPLAINED)
    throw usageError(
      `${file}: the body is larger than 8 MiB, the limit of explain`,
      'Choose a smaller delivery.',
    )
}

/** Prints a diagnosis. Escapes the evidence, because an attacker may have chosen the header and field names in it. */
function printDiagnosis({ file, ok, cause, evidence, fix, note }: FileDiagnosis): void {
  print(colours.bold(printable(file)))
  print(`  cause     ${ok ? colours.green(cause) : colours.red(cause)}`)
  print(`  evidence  ${printable(evidence)}`)
  print(`  fix       ${fix}`)
  if (note) print(`  note      ${note}`)
}
