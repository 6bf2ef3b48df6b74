import { Html, html } from '../../inspector/html/template.ts'
import { isRequired } from '../is-required.ts'
import { type CheckReport, type CheckResult, GROUPS, type Verdict } from '../types.ts'

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
const MARKS: Readonly<Record<Verdict, string>> = { passed: '✓', failed: '✗', undecided: '?', skipped: '–' }

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
  const groups = GROUPS.map((group) => renderGroup(group, report))
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
${groups}
</main>
</body>
</html>
`.markup
}

function renderGroup(group: string, report: CheckReport): Html {
  const results = report.results.filter((result) => result.group === group)
  if (results.length === 0) return html``
  return html`<section aria-labelledby="group-${group}">
<h2 id="group-${group}">${group}</h2>
${results.map((result) => renderResult(result, report))}
</section>
`
}

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
