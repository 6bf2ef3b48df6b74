import { html } from '../../../inspector/html/template.ts'
import type { AdminError } from '../../http/errors.ts'
import type { Parameters } from '../form-fields.ts'
import { form } from './forms.ts'
import { type Place, page } from './layout.ts'
import { linksOf } from './links.ts'
import { type OperationForm, operationForm } from './operation-form.ts'

/** An operation that a form was submitted for. */
export interface Submission {
  place: Place
  operation: string
  parameters: Parameters
}

/** The page that asks before an operation. Returns undefined if the operation does not ask, or if it was confirmed. */
export function questionPage({ place, operation, parameters }: Submission): string | undefined {
  const asked = operationForm(operation, place)
  if (asked?.question === undefined || parameters.has('confirmed')) return undefined
  return render(asked, place, [])
}

/** Statuses of errors that the user can correct in the form. */
const CORRECTABLE: readonly number[] = [400, 403, 498, 499]

/**
 * The page that shows a form again, with the input except keys and tokens. Returns undefined if the error cannot be
 * corrected there.
 */
export function rejectedPage(
  { place, operation, parameters }: Submission,
  { status, messages }: AdminError,
): string | undefined {
  const rejected = operationForm(operation, place)
  if (!rejected || !CORRECTABLE.includes(status)) return undefined
  const hasInput = rejected.fields.some(({ name }) => parameters.has(name)) || parameters.has('confirmed')
  if (!hasInput) return undefined
  const hasKey = (parameters.get('signatureKey') ?? []).some((key) => key !== '')
  return render(
    rejected,
    place,
    hasKey ? [...messages, 'The key is not shown again: enter it once more.'] : messages,
    parameters,
  )
}

function render(
  { title, action, button, fields, question }: OperationForm,
  { address, id, root, site }: Place,
  messages: readonly string[],
  parameters?: Parameters,
): string {
  const values = parameters && Object.fromEntries([...parameters].map(([name, all]) => [name, all.join(',')]))
  return page(title, linksOf(root, address, id, site), site, root, [
    messages.length === 0
      ? html``
      : html`<ul class="notice bad" role="alert">${messages.map((message) => html`<li>${message}</li>`)}</ul>
`,
    question === undefined ? html`` : html`<p>${question}</p>\n`,
    form(action, button, {
      fields,
      values,
      isConfirmed: question !== undefined,
      hasToken: site.hasTokens,
    }),
  ])
}
