import type { CheckReport, CheckResult, Verdict } from '../../check/index.ts'
import { colours, count, print } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'

const MARKS: Readonly<Record<Verdict, string>> = { passed: '✓', failed: '✗', undecided: '?', skipped: '-' }

/** Prints a report: one line per scenario that ran, more for those that failed, and then those that did not run. */
export function printText(report: CheckReport): void {
  if (report.results.length > 0) {
    printGroups(report)
    printNotRun(report.results)
    const { passed, failed, undecided, skipped } = report.counts
    const numbers = `${count(passed, 'scenario')} passed, ${failed} failed, ${undecided} undecided, ${skipped} skipped`
    print(colours.dim(`\n${numbers}, in ${(report.duration / 1000).toFixed(1)} s`))
  }
  const { green, red, yellow } = colours
  const colour = { conforms: green, fails: red, undecided: yellow, unreachable: red }[report.conclusion]
  print(colour(printable(report.summary)))
}

function printGroups(report: CheckReport): void {
  let last: string | undefined
  for (const result of report.results) {
    if (reasonNotRun(result) !== undefined) continue
    if (result.group !== last) print(colours.bold(result.group))
    last = result.group
    printResult(result, report)
  }
}

function printResult(result: CheckResult, report: CheckReport): void {
  const { id, level, title, verdict, evidence, reason, fix } = result
  const mark = colourOf(result, report)(MARKS[verdict])
  print(`  ${mark} ${id}  ${level === 'must' ? '' : `(${level}) `}${title}`)
  if (verdict === 'passed') return
  print(colours.dim(`      ${printable(evidence)}`))
  if (verdict !== 'failed') return
  print(colours.dim(`      why: ${reason}`))
  print(`      fix: ${fix}`)
}

function colourOf({ verdict, level }: CheckResult, { strict }: CheckReport): (text: string) => string {
  if (verdict === 'passed') return colours.green
  return verdict === 'failed' && (level === 'must' || (strict && level === 'should'))
    ? colours.red
    : colours.yellow
}

/** Returns why a scenario did not run, or undefined if it did. */
const reasonNotRun = ({ verdict, evidence }: CheckResult): string | undefined =>
  verdict === 'skipped' || evidence.startsWith('not run:') ? evidence.replace(/^not run: /, '') : undefined

/** Prints the scenarios that did not run, one line per reason. */
function printNotRun(results: readonly CheckResult[]): void {
  const ids = new Map<string, string[]>()
  for (const result of results) {
    const reason = reasonNotRun(result)
    if (reason === undefined || reason === 'not selected') continue
    ids.set(reason, [...(ids.get(reason) ?? []), result.id])
  }
  if (ids.size > 0) print(colours.bold('not run'))
  for (const [reason, names] of ids) print(colours.dim(`  - ${printable(reason)}: ${names.join(', ')}`))
}
