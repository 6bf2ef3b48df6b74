import { writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { type CheckReport, type CheckResult, toHtml, toJUnit, type Verdict } from '../../check/index.ts'
import { count } from '../../shared/words.ts'
import { usageError } from '../errors.ts'
import { reasonOf } from '../io/files.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'

export type Format = 'text' | 'json' | 'junit' | 'html'
export const FORMATS: readonly Format[] = ['text', 'json', 'junit', 'html']

type Writer = (report: CheckReport) => string

const BY_ENDING: Readonly<Record<string, Writer>> = {
  '.json': (report) => `${JSON.stringify(report, null, 2)}\n`,
  '.xml': toJUnit,
  '.html': toHtml,
}

/** Parses the name of a report file, and adds it to the previous ones. */
export function reportFile(value: string, previous: readonly string[] = []): string[] {
  if (Object.hasOwn(BY_ENDING, extname(value))) return [...previous, value]
  throw new InvalidArgumentError(`must end with ${Object.keys(BY_ENDING).join(', ')}`)
}

/** @throws {CliError} exit code 2 if the file cannot be written */
export async function writeReport(file: string, report: CheckReport): Promise<void> {
  try {
    await writeFile(file, (BY_ENDING[extname(file)] as Writer)(report))
  } catch (error) {
    throw usageError(`cannot write ${file}: ${reasonOf(error)}`)
  }
}

/** Prints a report to standard output. */
export function printReport(io: Io, report: CheckReport, format: Format): void {
  if (format === 'text') printText(io, report)
  else if (format === 'json') io.printJson(report)
  else io.host.stdout.write({ junit: toJUnit, html: toHtml }[format](report))
}

const MARKS: Readonly<Record<Verdict, string>> = { passed: '✓', failed: '✗', undecided: '?', skipped: '-' }

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
