import type { Row, RowOutcome } from '../source.ts'
import { type Html, html, timeOfDay, toCount } from './template.ts'

/** Size of the drawing; the page scales it. */
const WIDTH = 600
const HEIGHT = 120

/** The time that a plot covers, in milliseconds. */
interface TimeRange {
  from: number
  span: number
}

/** A plot over time as inline SVG, with its text for screen readers. */
const renderFigure = (
  title: string,
  text: string,
  marks: readonly Html[],
  { from, span }: TimeRange,
): Html => html`<figure><figcaption>${title}: ${text}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}: ${text}" preserveAspectRatio="none">
<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/>
${marks}</svg>
<p class="axis-labels"><span>${timeOfDay(new Date(from))}</span><span>${timeOfDay(new Date(from + span))}</span></p></figure>
`

const BARS = 60

const TONES: readonly RowOutcome['tone'][] = ['good', 'neutral', 'pending', 'bad']

/** Plots of the deliveries over time, and of their durations. */
export function renderPlots(all: readonly Row[]): Html {
  const rows = all.filter(({ time }) => !Number.isNaN(time.getTime()))
  if (rows.length === 0) return html``
  const timed = rows.filter(({ milliseconds }) => milliseconds !== undefined)
  return html`<div id="plots">${renderCounts(rows)}${timed.length > 0 ? renderDurations(timed) : ''}</div>`
}

/** Bars: the number of deliveries in each part of the time, by outcome. */
function renderCounts(rows: readonly Row[]): Html {
  const { from, span } = rangeOf(rows)
  const bars = Array.from({ length: BARS }, () => new Map<RowOutcome['tone'], number>())
  for (const { time, outcome } of rows) {
    const bar = bars[positionOf(time, from, span, BARS - 1)]
    bar?.set(outcome.tone, (bar.get(outcome.tone) ?? 0) + 1)
  }
  const most = Math.max(...bars.map((bar) => [...bar.values()].reduce((sum, count) => sum + count, 0)))
  const width = WIDTH / BARS
  const marks = bars.flatMap((bar, index) => {
    let y = HEIGHT
    return TONES.flatMap((tone) => {
      const height = ((bar.get(tone) ?? 0) / most) * HEIGHT
      if (height === 0) return []
      y -= height
      return [
        html`<rect class="${tone}" x="${round(index * width)}" y="${round(y)}" width="${round(width - 1)}" height="${round(height)}"/>`,
      ]
    })
  })
  const text = `${toCount(rows.length, 'delivery', 'deliveries')}, at most ${most} in ${Math.max(1, Math.round(span / BARS / 1000))} s`
  return renderFigure('Deliveries over time', text, marks, { from, span })
}

/** Dots: one for each delivery, higher for a longer duration. */
function renderDurations(rows: readonly Row[]): Html {
  const { from, span } = rangeOf(rows)
  const durations = rows.map(({ milliseconds = 0 }) => milliseconds).sort((a, b) => a - b)
  const longest = Math.max(1, durations.at(-1) ?? 1)
  const paths = new Map<RowOutcome['tone'], string>()
  for (const { time, milliseconds = 0, outcome } of rows) {
    const x = 3 + positionOf(time, from, span, WIDTH - 6)
    const y = round(HEIGHT - 3 - (milliseconds / longest) * (HEIGHT - 6))
    paths.set(outcome.tone, `${paths.get(outcome.tone) ?? ''}M${x} ${y}h0`)
  }
  // One path for each tone instead of an element for each dot keeps updates of the page fast.
  const marks = [...paths].map(([tone, path]) => html`<path class="${tone} dots" d="${path}"/>`)
  const at = (share: number): number => durations[Math.floor((durations.length - 1) * share)] ?? 0
  return renderFigure(
    'Duration',
    `median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, longest ${longest} ms`,
    marks,
    { from, span },
  )
}

function rangeOf(rows: readonly Row[]): TimeRange {
  const times = rows.map(({ time }) => time.getTime())
  const from = Math.min(...times)
  return { from, span: Math.max(1, Math.max(...times) - from) }
}

/** A whole number from 0 to `last`. */
const positionOf = (time: Date, from: number, span: number, last: number): number =>
  Math.min(last, Math.floor(((time.getTime() - from) / span) * last))

const round = (number: number): number => Math.round(number * 10) / 10
