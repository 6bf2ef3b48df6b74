import { timeOfDay } from './context.ts'
import { type Html, html } from './template.ts'

/** Size of the drawing; the page scales it. */
export const WIDTH = 600
export const HEIGHT = 120

/** The time that a plot covers, in milliseconds. */
export interface TimeRange {
  from: number
  span: number
}

/** A plot over time as inline SVG, with its text for screen readers. */
export const renderFigure = (
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
