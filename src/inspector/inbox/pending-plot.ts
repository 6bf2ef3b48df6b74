import { HEIGHT, renderFigure, WIDTH } from '../html/figure.ts'
import { type Html, html } from '../html/template.ts'
import type { Sample } from './samples.ts'

/** An area: the number of pending deliveries over the time in which a page was open. */
export function renderPending(samples: readonly Sample[]): Html {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || last.time === first.time) return html``
  const from = first.time
  const span = last.time - from
  const most = Math.max(...samples.map(({ pending }) => pending))
  const toX = (time: number): number => Math.round(((time - from) / span) * WIDTH)
  const toY = (pending: number): number => Math.round(HEIGHT - (pending / Math.max(1, most)) * (HEIGHT - 2))
  const points = samples.flatMap(({ time, pending }, index) => {
    // Steps: a count is valid until the next one.
    const before = samples[index - 1]?.pending ?? pending
    return [`${toX(time)},${toY(before)}`, `${toX(time)},${toY(pending)}`]
  })
  const corners = [`0,${HEIGHT}`, ...points, `${WIDTH},${HEIGHT}`]
  const marks = html`<polygon class="pending" points="${corners.join(' ')}"/>
`
  const text = `${last.pending.toLocaleString('en')} now, at most ${most.toLocaleString('en')}`
  return renderFigure('Pending deliveries', text, [marks], { from, span })
}
