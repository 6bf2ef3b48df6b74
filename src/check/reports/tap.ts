import { isRequired } from '../is-required.ts'
import type { CheckReport, CheckResult } from '../types.ts'

/**
 * Writes a report in the Test Anything Protocol, version 14 (https://testanything.org/tap-version-14-specification.html).
 * Failures that do not count have the directive TODO; skipped and undecided scenarios have SKIP.
 *
 * @example
 * ```ts
 * import { checkReceiver, toTap } from 'geohook/check'
 *
 * process.stdout.write(toTap(await checkReceiver({ url: 'http://127.0.0.1:3000/', signatureKey: 'parcels2026' })))
 * ```
 */
export function toTap(report: CheckReport): string {
  if (report.conclusion === 'unreachable') return `TAP version 14\nBail out! ${escapeText(report.summary)}\n`
  const points = report.results.map((result, index) => toPoint(result, index + 1, report))
  return ['TAP version 14', `1..${points.length}`, ...points, ''].join('\n')
}

function toPoint(result: CheckResult, number: number, report: CheckReport): string {
  const { id, title, verdict } = result
  const status = verdict === 'failed' ? 'not ok' : 'ok'
  const line = `${status} ${number} - ${escapeText(`${id}: ${title}`)}${directive(result, report)}`
  return verdict === 'passed' || verdict === 'skipped' ? line : `${line}\n${toYaml(result)}`
}

function directive(result: CheckResult, report: CheckReport): string {
  const { verdict, evidence, level } = result
  if (verdict === 'skipped') return ` # SKIP ${escapeText(evidence)}`
  if (verdict === 'undecided') return ' # SKIP undecided'
  return verdict === 'failed' && !isRequired(result, report) ? ` # TODO ${level} only` : ''
}

/** A YAML block. Strings in JSON are strings in YAML, except for the characters that only YAML forbids. */
const toYaml = ({ level, verdict, evidence, reason, fix }: CheckResult): string =>
  [
    '  ---',
    ...Object.entries({ level, verdict, evidence, reason, fix }).map(
      ([name, value]) =>
        `  ${name}: ${JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g, escapeCode)}`,
    ),
    '  ...',
  ].join('\n')

const escapeCode = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Escapes the characters that have a meaning in a description. */
const escapeText = (text: string): string =>
  text
    .replace(/[\\#]/g, '\\$&')
    .replace(/[\r\n]+/g, ' ')
    .replace(/\p{Cc}/gu, '\u{fffd}')
