import { type Html, html } from './template.ts'

/** A labelled field; `hint` says what to know about it. */
export const field = (label: string, control: Html, hint = ''): Html =>
  html`<label>${label}${control}${hint && html`<small>${hint}</small>`}</label>
`

/** An input of one line. */
export const input = (name: string, value: string | number = '', isRequired = false): Html =>
  isRequired
    ? html`<input name="${name}" value="${value}" required>`
    : html`<input name="${name}" value="${value}">`

/** Whose value is neither shown nor kept by the browser. */
export const secret = (name: string): Html => html`<input name="${name}" type="password" autocomplete="off">`

/** A choice among a few values. */
export const select = (name: string, values: readonly string[], chosen: string): Html =>
  html`<select name="${name}">${values.map((value) =>
    value === chosen ? html`<option selected>${value}</option>` : html`<option>${value}</option>`,
  )}</select>`

/** A form that is answered with a page. Where the service asks for a token, so does the form. */
export const form = (
  action: string,
  button: string,
  hasTokens: boolean,
  fields: readonly Html[] = [],
): Html => html`<form method="post" action="${action}">
<input type="hidden" name="f" value="html">
${fields}${hasTokens ? field('token', secret('token')) : ''}<button>${button}</button>
</form>
`
