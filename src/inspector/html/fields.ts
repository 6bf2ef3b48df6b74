import type { Field, Values } from '../action.ts'
import { type Html, html } from './template.ts'

/**
 * The fields of a form with their labels. Submitted values replace the initial ones, except those of secrets.
 *
 * @param prefix makes the ids unique if a page has several forms
 */
export const renderFields = (fields: readonly Field[], values?: Values, prefix = ''): Html[] =>
  fields.map((field) => renderField(field, values, prefix))

function renderField(field: Field, values: Values | undefined, prefix: string): Html {
  const { name, label, kind = 'text', hint, value } = field
  const id = prefix + name
  const hintId = `${id}-hint`
  const current = values ? (values[name] ?? '') : (value ?? '')
  const control = CONTROLS[kind](field, current, id, hint ? html` aria-describedby="${hintId}"` : html``)
  const text = html`<label for="${id}">${label}</label>`
  return html`<div class="field ${kind}">${kind === 'checkbox' ? [control, text] : [text, control]}${
    hint ? html`<small id="${hintId}">${hint}</small>` : ''
  }</div>
`
}

type Control = (field: Field, value: string, id: string, described: Html) => Html

const CONTROLS: Readonly<Record<NonNullable<Field['kind']>, Control>> = {
  text: ({ name, choices, isRequired }, value, id, described) => {
    const list = `${id}-choices`
    return html`<input id="${id}" name="${name}" value="${value}"${required(isRequired)}${described}${
      choices ? html` list="${list}"` : ''
    } autocomplete="off" spellcheck="false">${
      choices
        ? html`<datalist id="${list}">${choices.map(([text, title]) => html`<option value="${text}">${title}</option>`)}</datalist>`
        : ''
    }`
  },
  number: ({ name, isRequired }, value, id, described) =>
    html`<input id="${id}" name="${name}" value="${value}" inputmode="decimal"${required(isRequired)}${described} autocomplete="off">`,
  // The first line break after <textarea> is not part of the value.
  multiline: ({ name, isRequired }, value, id, described) =>
    html`<textarea id="${id}" name="${name}" rows="12"${required(isRequired)}${described} autocomplete="off" spellcheck="false">
${value}</textarea>`,
  choice: ({ name, choices = [], isRequired }, value, id, described) =>
    html`<select id="${id}" name="${name}"${required(isRequired)}${described}>${choices.map(
      ([text, title]) =>
        html`<option value="${text}"${text === value ? html` selected` : ''}>${title}</option>`,
    )}</select>`,
  checkbox: ({ name }, value, id, described) =>
    html`<input id="${id}" name="${name}" type="checkbox" value="true"${value === 'true' ? html` checked` : ''}${described}>`,
  secret: ({ name, isRequired }, _value, id, described) =>
    html`<input id="${id}" name="${name}" type="password" autocomplete="off"${required(isRequired)}${described}>`,
}

const required = (isRequired: boolean | undefined): Html => (isRequired ? html` required` : html``)
