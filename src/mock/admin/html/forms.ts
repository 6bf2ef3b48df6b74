import type { Field, Values } from '../../../inspector/action.ts'
import { renderFields } from '../../../inspector/html/fields.ts'
import { type Html, html } from '../../../inspector/html/template.ts'

/** Options of {@link form}. */
export interface FormOptions {
  fields?: readonly Field[]
  /** What was submitted before, if that was invalid. */
  values?: Values | undefined
  /** True for a form that answers a question: the operation then runs without asking. */
  isConfirmed?: boolean
  /** True for a token field. */
  hasToken?: boolean
}

const TOKEN: Field = { name: 'token', label: 'token', kind: 'secret' }

/** A form whose response is an HTML page. The button's text, which is unique on a page, makes the ids unique. */
export function form(action: string, button: string, options: FormOptions = {}): Html {
  const { fields = [], values, isConfirmed = false, hasToken = false } = options
  const all = hasToken ? [...fields, TOKEN] : fields
  return html`<form method="post" action="${action}">
<input type="hidden" name="f" value="html">
${isConfirmed ? html`<input type="hidden" name="confirmed" value="true">\n` : ''}${renderFields(all, values, `${button.toLowerCase().replace(/\W+/g, '-')}-`)}<p class="buttons"><button>${button}</button></p>
</form>
`
}
