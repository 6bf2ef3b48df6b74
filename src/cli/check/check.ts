import { type ExecException, exec } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import {
  type CheckObserver,
  type CheckReport,
  type CheckResult,
  type CheckVerdict,
  type Conclusion,
  checkReceiver,
  type HandlerSwitch,
  SCENARIOS,
  toHtml,
  toJUnit,
} from '../../check/index.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { isObject, tryJson } from '../../shared/json.ts'
import { DIALECTS, type Dialect, PROFILES } from '../../shared/senders.ts'
import { createTrust, type Trust } from '../../shared/tls-trust.node.ts'
import { count } from '../../shared/words.ts'
import { EXIT, type ExitCode, usageError } from '../errors.ts'
import { reasonOf } from '../io/files.ts'
import { sendRequest } from '../io/http.ts'
import { addCaOption, type CaOptions, CliCommand, readCas } from '../options/command.ts'
import { addKeyOptions, type KeyOptions, requireKey } from '../options/secrets.ts'
import { commaList, headerLine, headerName, httpUrl, wholeNumber } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'

const FORMATS = ['text', 'json', 'junit', 'html'] as const
type Format = (typeof FORMATS)[number]

interface Options extends KeyOptions, CaOptions {
  profile?: 'service' | 'arcgis' | 'portal'
  dialect?: Dialect
  signatureHeader?: string
  encoding?: 'hex' | 'base64'
  prefix?: string
  changeType?: string
  sideEffects?: true
  observer?: URL
  observerCommand?: string
  failCommand?: string
  unknownUrl?: URL
  only?: string[]
  skip?: string[]
  strict?: true
  timeout: number
  header?: HeaderPairs
  format: Format
  report?: string[]
  list?: true
}

const EXIT_CODES: Readonly<Record<Conclusion, ExitCode>> = {
  conforms: EXIT.success,
  fails: EXIT.failure,
  unreachable: EXIT.unreachable,
  undecided: EXIT.undecided,
}

const nameList = commaList(/^[a-z0-9-]{1,60}$/, 'ids or groups of scenarios, separated by commas', String)

export function createCheckCommand(io: Io): Command {
  return new CliCommand('check')
    .summary('check whether a receiver conforms')
    .description(
      'Sends valid, forged, unusual, slow and broken requests to a receiver in any language, and reports what it does wrong. ' +
        'Handlers run for the valid deliveries, each of them once unless --side-effects is given: use a receiver for tests. ' +
        'The exit code is 0 if the receiver conforms, 1 if it fails a scenario of the level must, 2 for wrong usage, 3 if it is unreachable, and 4 if no must failed, but at least one is undecided.',
    )
    .argument('[url]', 'payload URL of the receiver', httpUrl)
    .choice('--profile <name>', 'kind of sender: service, arcgis or portal (default: by dialect)', PROFILES)
    .choice('--dialect <name>', 'format of the payloads (default: by profile)', DIALECTS)
    .option('--signature-header <name>', 'header for signatures (default: by profile)', headerName)
    .choice('--encoding <name>', 'encoding of signatures (default: by profile)', ['hex', 'base64'])
    .option('--prefix <text>', 'text before signatures, for example sha256= (default: by profile)')
    .option(
      '--change-type <name>',
      'change type of valid deliveries (default: FeaturesUpdated, or update for organizations)',
    )
    .option('--side-effects', 'also send valid deliveries more than once, and break some off')
    .option(
      '--observer <url>',
      'URL that returns how many deliveries were handled, as a number or as {"count": n}; {id} in it becomes the id of the delivery',
      httpUrl,
    )
    .option(
      '--observer-command <command>',
      'shell command that prints this number; the variable GEOHOOK_CHECK_ID is the id of the delivery',
    )
    .option(
      '--fail-command <command>',
      'with --side-effects: shell command that makes the handler fail if the variable GEOHOOK_CHECK_FAIL is 1, and work again if it is 0',
    )
    .option('--unknown-url <url>', 'URL of a tenant that does not exist, to compare its responses', httpUrl)
    .option('--only <names>', 'run only these scenarios or groups, separated by commas; repeatable', nameList)
    .option('--skip <names>', 'skip these scenarios or groups, separated by commas; repeatable', nameList)
    .option('--strict', 'a should counts like a must')
    .option('--timeout <seconds>', 'seconds to wait for each response, 1 to 60', wholeNumber(1, 60), 10)
    .option(
      '--header <line>',
      "additional header for each request, as 'name: value'; repeatable",
      headerLine(io),
    )
    .choice('--format <name>', 'format on standard output', FORMATS, 'text')
    .option('--json', 'print JSON, as --format json does')
    .option(
      '--report <file>',
      'also write a report in the format of its file extension: .json, .xml (JUnit) or .html; repeatable',
      reportFile,
    )
    .option('--list', 'print all scenarios, and send nothing')
    .with(addKeyOptions)
    .with(addCaOption)
    .examples(
      'geohook check http://127.0.0.1:3000/ --key-file key.txt',
      'geohook check https://hooks.example.com/parcels --profile arcgis --key-file key.txt --report check.xml',
      'geohook check http://127.0.0.1:3000/ --key-file key.txt --side-effects --observer http://127.0.0.1:3000/count',
      'geohook check http://127.0.0.1:3000/ --key-file key.txt --only signatures,body-altered',
      'geohook check --list',
    )
    .action(async (url: URL | undefined, options: Options) => {
      const format = io.json ? 'json' : options.format
      io.json = format === 'json'
      if (options.list) return printScenarios(io)
      if (!url) throw usageError('the URL of the receiver is missing', 'Give the payload URL, or --list.')
      const report = await run(io, url, options)
      printReport(io, report, format) // first, so that a file that cannot be written does not lose the result of the run
      for (const file of options.report ?? []) await writeReport(file, report)
      io.exitCode = EXIT_CODES[report.conclusion]
    })
}

async function run(io: Io, url: URL, options: Options): Promise<CheckReport> {
  const { profile, dialect, signatureHeader, encoding, prefix, changeType, sideEffects } = options
  const { unknownUrl, only, skip, strict, failCommand } = options
  const signatureKey = await requireKey(io, options)
  const ca = await readCas(io, options)
  const sender = { signatureKey, profile, dialect, signatureHeader, encoding, prefix, changeType }
  const selection = { sideEffects, only, skip, strict }
  return io.withProgress(`checking ${url.origin}`, (progress) =>
    checkReceiver({
      url,
      ...sender,
      ...selection,
      ca,
      observer: toObserver(io, options, createTrust(ca)),
      failHandler: failCommand === undefined ? undefined : commandSwitch(io, failCommand),
      unknownUrl,
      timeout: options.timeout * 1000,
      headers: toHeaders(options.header),
      onResult: ({ id }, { done, total }) =>
        progress.update(`checking ${url.origin}: ${done} of ${total}, ${id}`),
    }),
  )
}

/** @throws {CliError} exit code 2 if a name occurs twice */
function toHeaders(pairs: HeaderPairs = []): Record<string, string> {
  const names = pairs.map(([name]) => name.toLowerCase())
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined)
    throw usageError(`--header ${repeated} is given twice`, 'Give each header once.')
  return Object.fromEntries(pairs)
}

/** @throws {CliError} exit code 2 if there are two observers */
function toObserver(
  io: Io,
  { observer: url, observerCommand: command }: Options,
  trust: Trust,
): CheckObserver | undefined {
  if (url && command !== undefined) throw usageError('give either --observer or --observer-command')
  if (url) return (id) => countAt(url.href.replaceAll(/\{id\}|%7Bid%7D/gi, id), trust)
  if (command === undefined) return undefined
  return async (id) => toCount(await runCommand(io, 'observer', command, { GEOHOOK_CHECK_ID: id }))
}

/** Prints all scenarios as a table, or as JSON with their reasons and fixes. */
function printScenarios(io: Io): void {
  const rows = SCENARIOS.map(({ group, id, level, title, hasSideEffects }) => [
    group,
    id,
    level,
    `${title}${hasSideEffects ? ' (--side-effects)' : ''}`,
  ])
  const head = ['group', 'id', 'level', 'a conforming receiver']
  io.printResult({ scenarios: SCENARIOS }, () => io.printTable(head, rows))
}

const TIMEOUT = 10_000
/** Characters of output that can be a number. */
const MAX_OUTPUT = 10_000

async function countAt(url: string, trust: Trust): Promise<number> {
  const request = { method: 'GET', headers: [], body: Buffer.alloc(0) }
  const { status, body } = await sendRequest(new URL(url), request, { timeout: TIMEOUT, trust })
  if (status !== 200) throw new Error(`the observer answered ${status}`)
  return toCount(body.toString())
}

const commandSwitch =
  (io: Io, command: string): HandlerSwitch =>
  (id, fails) =>
    runCommand(io, 'fail', command, { GEOHOOK_CHECK_ID: id, GEOHOOK_CHECK_FAIL: fails ? '1' : '0' })

async function runCommand(
  io: Io,
  name: string,
  command: string,
  variables: Record<string, string>,
): Promise<string> {
  try {
    const options = { timeout: TIMEOUT, maxBuffer: MAX_OUTPUT, env: { ...io.host.env, ...variables } }
    return (await promisify(exec)(command, options)).stdout
  } catch (error) {
    throw new Error(`the ${name} command failed: ${whyFailed(error as ExecException)}`)
  }
}

/** Describes a failure without Node's message, which contains the command, and so perhaps a secret. */
function whyFailed({ code, killed, signal }: ExecException): string {
  if (String(code) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it printed too much'
  if (killed) return `no result within ${TIMEOUT / 1000} s`
  return signal ?? `exit code ${code}`
}

/** Reads `7` or `{"count": 7}`. */
function toCount(text: string): number {
  const value = tryJson(text)
  const number = isObject(value) ? value.count : value
  if (typeof number === 'number') return number
  throw new Error('the observer returned neither a number nor {"count": n}')
}

type Writer = (report: CheckReport) => string

const BY_ENDING: Readonly<Record<string, Writer>> = {
  '.json': (report) => `${JSON.stringify(report, null, 2)}\n`,
  '.xml': toJUnit,
  '.html': toHtml,
}

/** Parses the name of a report file, and adds it to the previous ones. */
function reportFile(value: string, previous: readonly string[] = []): string[] {
  if (Object.hasOwn(BY_ENDING, extname(value))) return [...previous, value]
  throw new InvalidArgumentError(`must end with ${Object.keys(BY_ENDING).join(', ')}`)
}

/** @throws {CliError} exit code 2 if the file cannot be written */
async function writeReport(file: string, report: CheckReport): Promise<void> {
  try {
    await writeFile(file, (BY_ENDING[extname(file)] as Writer)(report))
  } catch (error) {
    throw usageError(`cannot write ${file}: ${reasonOf(error)}`)
  }
}

function printReport(io: Io, report: CheckReport, format: Format): void {
  if (format === 'text') printText(io, report)
  else if (format === 'json') io.printJson(report)
  else io.host.stdout.write({ junit: toJUnit, html: toHtml }[format](report))
}

const MARKS: Readonly<Record<CheckVerdict, string>> = {
  passed: '✓',
  failed: '✗',
  undecided: '?',
  skipped: '-',
}

/** Prints a report: one line per scenario that ran, more for those that failed, and then those that did not run. */
function printText(io: Io, report: CheckReport): void {
  if (report.results.length > 0) {
    printGroups(io, report)
    printNotRun(io, report.results)
    const { passed, failed, undecided, skipped } = report.counts
    const numbers = `${count(passed, 'scenario')} passed, ${failed} failed, ${undecided} undecided, ${skipped} skipped`
    io.print(io.colours.dim(`\n${numbers}, in ${(report.duration / 1000).toFixed(1)} s`))
  }
  const { green, red, yellow } = io.colours
  const colour = { conforms: green, fails: red, undecided: yellow, unreachable: red }[report.conclusion]
  io.print(colour(printable(report.summary)))
}

function printGroups(io: Io, report: CheckReport): void {
  let last: string | undefined
  for (const result of report.results) {
    if (reasonNotRun(result) !== undefined) continue
    if (result.group !== last) io.print(io.colours.bold(result.group))
    last = result.group
    printResult(io, result, report)
  }
}

function printResult(io: Io, result: CheckResult, report: CheckReport): void {
  const { id, level, title, verdict, evidence, reason, fix } = result
  const mark = colourOf(io, result, report)(MARKS[verdict])
  io.print(`  ${mark} ${id}  ${level === 'must' ? '' : `(${level}) `}${title}`)
  if (verdict === 'passed') return
  io.print(io.colours.dim(`      ${printable(evidence)}`))
  if (verdict !== 'failed') return
  io.print(io.colours.dim(`      why: ${reason}`))
  io.print(`      fix: ${fix}`)
}

function colourOf(
  io: Io,
  { verdict, level }: CheckResult,
  { strict }: CheckReport,
): (text: string) => string {
  if (verdict === 'passed') return io.colours.green
  return verdict === 'failed' && (level === 'must' || (strict && level === 'should'))
    ? io.colours.red
    : io.colours.yellow
}

/** Returns why a scenario did not run, or undefined if it did. */
const reasonNotRun = ({ verdict, evidence }: CheckResult): string | undefined =>
  verdict === 'skipped' || evidence.startsWith('not run:') ? evidence.replace(/^not run: /, '') : undefined

/** Prints the scenarios that did not run, one line per reason. */
function printNotRun(io: Io, results: readonly CheckResult[]): void {
  const ids = new Map<string, string[]>()
  for (const result of results) {
    const reason = reasonNotRun(result)
    if (reason === undefined || reason === 'not selected') continue
    ids.set(reason, [...(ids.get(reason) ?? []), result.id])
  }
  if (ids.size > 0) io.print(io.colours.bold('not run'))
  for (const [reason, names] of ids) io.print(io.colours.dim(`  - ${printable(reason)}: ${names.join(', ')}`))
}
