import { type Html, html } from './template.ts'

/** A list of names and values; entries without a value are left out. */
export const renderFacts = (
  facts: readonly (readonly [name: string, value: string | Html | undefined])[],
): Html =>
  html`<dl class="facts">
${facts
  .filter(([, value]) => value !== undefined && value !== '')
  .map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>
`
