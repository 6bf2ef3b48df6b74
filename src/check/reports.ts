import { Html, html } from '../inspector/html/template.ts'
import { type CheckReport, type CheckResult, type CheckVerdict, GROUPS, isRequired } from './types.ts'

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
  const isUnreachable = report.conclusion === 'unreachable'
  const numbers = isUnreachable ? ONE_ERROR : counts(report.results, report)
  return html`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="geohook check" ${numbers} time="${seconds(report.duration)}">
${groupsOf(report).map(([group, results]) => toSuite(group, results, report))}${isUnreachable ? unreachable(report) : ''}</testsuites>
`.markup
}

/** The groups that have results, in the order of the report. */
const groupsOf = ({ results }: CheckReport): [group: string, results: CheckResult[]][] =>
  GROUPS.map((group): [string, CheckResult[]] => [
    group,
    results.filter((result) => result.group === group),
  ]).filter(([, found]) => found.length > 0)

function toSuite(group: string, results: readonly CheckResult[], report: CheckReport): Html {
  const time = results.reduce((sum, { duration }) => sum + duration, 0)
  return html`  <testsuite name="${group}" ${counts(results, report)} errors="0" timestamp="${report.startedAt}" time="${seconds(time)}">
${results.map((result) => toCase(result, report))}  </testsuite>
`
}

const toCase = (result: CheckResult, report: CheckReport): Html =>
  html`    <testcase classname="${result.group}" name="${`${result.id}: ${result.title}`}" time="${seconds(result.duration)}">
      <properties><property name="level" value="${result.level}"/><property name="verdict" value="${result.verdict}"/></properties>${outcome(result, report)}
      <system-out>${result.evidence}</system-out>
    </testcase>
`

function outcome(result: CheckResult, report: CheckReport): Html {
  const { level, verdict, evidence, reason, fix } = result
  if (verdict === 'passed') return html``
  if (verdict === 'failed' && isRequired(result, report))
    return html`
      <failure type="${level}" message="${evidence}">${`${reason}\n${fix}`}</failure>`
  const note = verdict === 'failed' ? `${level} only, does not count: ` : `${verdict}: `
  return html`
      <skipped message="${note + evidence}"/>`
}

const ONE_ERROR: Html = html`tests="1" failures="0" skipped="0" errors="1"`

/** A test case with an error, because CI systems take a file without test cases for success. */
const unreachable = ({ summary }: CheckReport): Html =>
  html`  <testsuite name="connection" ${ONE_ERROR}>
    <testcase classname="connection" name="reaches the receiver"><error message="${summary}"/></testcase>
  </testsuite>
`

function counts(results: readonly CheckResult[], report: CheckReport): Html {
  const failures = results.filter(
    (result) => result.verdict === 'failed' && isRequired(result, report),
  ).length
  const skipped = results.filter(({ verdict }) => verdict !== 'passed').length - failures
  return html`tests="${results.length}" failures="${failures}" skipped="${skipped}"`
}

const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(3)

/** The style of the page. All pairs of colours have a contrast of 4.5 or more. */
const STYLE: Html = new Html(`
:root { color-scheme: light dark; --good: #14632f; --bad: #b3160c; --open: #7a4a00; --quiet: #595959; --line: #c8c8c8 }
@media (prefers-color-scheme: dark) {
  :root { --good: #7fd99a; --bad: #ff9d94; --open: #f0c060; --quiet: #b5b5b5; --line: #555 }
}
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 }
main { max-width: 60rem; margin: 0 auto; padding: 1rem }
h1, summary { overflow-wrap: anywhere }
details { border-bottom: 1px solid var(--line); padding: .3rem 0 }
summary { cursor: pointer }
dt { font-weight: 600 }
dd { margin: 0 0 .4rem 1rem; overflow-wrap: anywhere }
.level, .skipped { color: var(--quiet) }
.passed, .conforms { color: var(--good) }
.failed, .fails, .unreachable { color: var(--bad) }
.undecided, .tolerated { color: var(--open) }
p.conforms, p.fails, p.undecided, p.unreachable { font-weight: 600 }
`)

/** Marks of the verdicts, besides their colours. */
const MARKS: Readonly<Record<CheckVerdict, string>> = {
  passed: '✓',
  failed: '✗',
  undecided: '?',
  skipped: '–',
}

/**
 * Writes a report as one HTML file without scripts and external resources.
 *
 * @example
 * ```ts
 * import { checkReceiver, toHtml } from 'geohook/check'
 *
 * process.stdout.write(toHtml(await checkReceiver({ url: 'http://127.0.0.1:3000/', signatureKey: 'parcels2026' })))
 * ```
 */
export function toHtml(report: CheckReport): string {
  const { url, summary, conclusion, counts, startedAt, version, profile, dialect, duration } = report
  const title = `${url}: ${conclusion}`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Conformance of ${url}</h1>
<p class="${conclusion}">${summary}</p>
<p>${counts.passed} passed, ${counts.failed} failed, ${counts.undecided} undecided, ${counts.skipped} skipped.
Profile ${profile}, dialect ${dialect}${report.strict ? ', strict' : ''}. <time datetime="${startedAt}">${startedAt}</time>, ${(duration / 1000).toFixed(1)} s, geohook ${version}.</p>
${groupsOf(report).map(([group, results]) => renderGroup(group, results, report))}
</main>
</body>
</html>
`.markup
}

const renderGroup = (group: string, results: readonly CheckResult[], report: CheckReport): Html =>
  html`<section aria-labelledby="group-${group}">
<h2 id="group-${group}">${group}</h2>
${results.map((result) => renderResult(result, report))}
</section>
`

function renderResult(result: CheckResult, report: CheckReport): Html {
  const { id, level, title, verdict, evidence, reason, fix } = result
  const isOpen = verdict === 'failed' || verdict === 'undecided'
  const name = verdict === 'failed' && !isRequired(result, report) ? 'tolerated' : verdict
  return html`<details id="${id}"${isOpen ? html` open` : ''}>
<summary><span class="${name}">${MARKS[verdict]} ${verdict}</span> <code>${id}</code> <span class="level">${level}</span> ${title}</summary>
<dl><dt>Evidence</dt><dd>${evidence}</dd>${verdict === 'failed' ? html`<dt>Reason</dt><dd>${reason}</dd><dt>Fix</dt><dd>${fix}</dd>` : ''}</dl>
</details>
`
}
