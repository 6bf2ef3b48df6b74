import { type Html, html } from './template.ts'

/** A form field with a label and an optional hint. */
export const field = (label: string, control: Html, hint = ''): Html =>
  html`<label>${label}${control}${hint && html`<small>${hint}</small>`}</label>
`

/** A single-line input. */
export const input = (name: string, value: string | number = '', isRequired = false): Html =>
  isRequired
    ? html`<input name="${name}" value="${value}" required>`
    : html`<input name="${name}" value="${value}">`

/** An input whose value the browser neither shows nor stores. */
export const secretInput = (name: string): Html =>
  html`<input name="${name}" type="password" autocomplete="off">`

/** A drop-down list. */
export const select = (name: string, values: readonly string[], chosen: string): Html =>
  html`<select name="${name}">${values.map((value) =>
    value === chosen ? html`<option selected>${value}</option>` : html`<option>${value}</option>`,
  )}</select>`

/** A form whose response is an HTML page. It has a token field if the service uses tokens. */
export const form = (
  action: string,
  button: string,
  hasTokens: boolean,
  fields: readonly Html[] = [],
): Html => html`<form method="post" action="${action}">
<input type="hidden" name="f" value="html">
${fields}${hasTokens ? field('token', secretInput('token')) : ''}<button>${button}</button>
</form>
`
