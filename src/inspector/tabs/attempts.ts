import { renderTime } from '../html/context.ts'
import { type Html, html } from '../html/template.ts'
import type { AttemptEntry } from '../source.ts'
import type { Tab } from './tab.ts'

export const attempts: Tab = {
  name: 'attempts',
  title: 'Attempts',
  render({ attemptLog }) {
    if (attemptLog.length === 0) return html`<p>No attempts yet.</p>`
    return html`<ol class="attempts">
${attemptLog.map(renderAttempt)}</ol>
`
  },
}

const MAX_ANSWER = 16 * 1024

const renderAttempt = ({ number, time, tone, result, milliseconds, note, answer }: AttemptEntry): Html =>
  html`<li><h3>Attempt ${number} <span class="outcome ${tone}">${result}</span></h3>
<p>${renderTime(time)}${milliseconds === undefined ? '' : html`, ${milliseconds} ms`}${note === undefined ? '' : html`: ${note}`}</p>
${
  answer === undefined
    ? ''
    : html`<details><summary>Response</summary>
<pre class="bytes" tabindex="0" aria-label="Response of attempt ${number}">${[
        ...answer.headers.map(([name, value]) => `${name}: ${value}`),
        '',
        answer.body.slice(0, MAX_ANSWER),
      ].join('\n')}</pre></details>
`
}</li>
`
