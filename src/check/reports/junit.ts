import { isRequired } from '../is-required.ts'
import { type CheckReport, type CheckResult, GROUPS } from '../types.ts'

/**
 * Writes a report in the XML format of JUnit, which CI systems read: one test suite per group, one test case per
 * scenario. Failures that do not count (a `should` without `strict`, a `may`) are skipped test cases with the evidence,
 * and so are undecided scenarios.
 *
 * @example
 * ```ts
 * import { checkReceiver, toJUnit } from 'geohook/check'
 *
 * process.stdout.write(toJUnit(await checkReceiver({ url: 'http://127.0.0.1:3000/', signatureKey: 'parcels2026' })))
 * ```
 */
export function toJUnit(report: CheckReport): string {
  const suites = GROUPS.map((group) => ({
    group,
    results: report.results.filter((result) => result.group === group),
  })).filter(({ results }) => results.length > 0)
  const cases = suites.map(({ group, results }) => toSuite(group, results, report))
  const isUnreachable = report.conclusion === 'unreachable'
  const numbers = isUnreachable ? ONE_ERROR : counts(report.results, report)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="geohook check" ${numbers} time="${seconds(report.duration)}">`,
    ...cases,
    ...(isUnreachable ? [unreachable(report)] : []),
    '</testsuites>',
    '',
  ].join('\n')
}

function toSuite(group: string, results: readonly CheckResult[], report: CheckReport): string {
  const time = results.reduce((sum, { duration }) => sum + duration, 0)
  const lines = results.map((result) => toCase(result, report))
  return `  <testsuite name="${group}" ${counts(results, report)} errors="0" timestamp="${report.startedAt}" time="${seconds(time)}">
${lines.join('\n')}
  </testsuite>`
}

function toCase(result: CheckResult, report: CheckReport): string {
  const { id, group, level, title, verdict, evidence, duration } = result
  const properties = `<properties><property name="level" value="${level}"/><property name="verdict" value="${verdict}"/></properties>`
  return `    <testcase classname="${group}" name="${escapeXml(`${id}: ${title}`)}" time="${seconds(duration)}">
      ${properties}${outcome(result, report)}
      <system-out>${escapeXml(evidence)}</system-out>
    </testcase>`
}

function outcome(result: CheckResult, report: CheckReport): string {
  const { level, verdict, evidence, reason, fix } = result
  if (verdict === 'passed') return ''
  if (verdict === 'failed' && isRequired(result, report))
    return `\n      <failure type="${level}" message="${escapeXml(evidence)}">${escapeXml(`${reason}\n${fix}`)}</failure>`
  const note = verdict === 'failed' ? `${level} only, does not count: ` : `${verdict}: `
  return `\n      <skipped message="${escapeXml(note + evidence)}"/>`
}

const ONE_ERROR = 'tests="1" failures="0" skipped="0" errors="1"'

/** A test case with an error, because CI systems take a file without test cases for success. */
const unreachable = ({ summary }: CheckReport): string =>
  `  <testsuite name="connection" ${ONE_ERROR}>
    <testcase classname="connection" name="reaches the receiver"><error message="${escapeXml(summary)}"/></testcase>
  </testsuite>`

function counts(results: readonly CheckResult[], report: CheckReport): string {
  const failures = results.filter(
    (result) => result.verdict === 'failed' && isRequired(result, report),
  ).length
  const skipped = results.filter(({ verdict }) => verdict !== 'passed').length - failures
  return `tests="${results.length}" failures="${failures}" skipped="${skipped}"`
}

const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(3)

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
}

/** Escapes text, and replaces characters that XML 1.0 does not allow. */
const escapeXml = (text: string): string =>
  text
    .replace(/[&<>"\n]/g, (character) => ENTITIES[character] as string)
    .replace(/[^\P{Cc}\t]|\p{Cs}|[\ufffe\uffff]/gu, '\u{fffd}')
