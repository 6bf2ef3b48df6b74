import { createHash } from 'node:crypto'
import type { Action, Values } from '../action.ts'
import { type Context, form } from '../html/context.ts'
import { renderFields } from '../html/fields.ts'
import type { Pane } from '../html/page.ts'
import { html } from '../html/template.ts'

/** A form that could not be processed. */
export interface Rejected {
  message: string
  values: Values
}

/** Identifies a question. Browsers would change some characters of its text when they submit it. */
export const questionId = (question: string): string =>
  createHash('sha256').update(question).digest('base64url')

/**
 * The pane with the form of an action, and with its question.
 *
 * @param hidden further values to submit
 * @param rejected what was submitted before, if that was invalid
 */
export async function actionPane<Subject>(
  context: Context,
  path: string,
  action: Action<Subject>,
  subject: Subject,
  {
    hidden = {},
    rejected,
  }: { hidden?: Readonly<Record<string, string>>; rejected?: Rejected | undefined } = {},
): Promise<Pane> {
  const fields = (await action.fields?.(subject)) ?? []
  const question = await action.question?.(subject)
  return {
    title: action.label,
    status: rejected ? 400 : 200,
    content: [
      rejected
        ? html`<p class="notice bad" role="alert" tabindex="-1" autofocus>${rejected.message}</p>`
        : html``,
      question ? html`<p>${question}</p>` : html``,
      form(context, path, [
        // The action runs only if the question is still the same.
        question ? html`<input type="hidden" name="asked" value="${questionId(question)}">` : html``,
        ...Object.entries(hidden).map(
          ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
        ),
        ...renderFields(fields, rejected?.values),
        html`<p class="buttons"><button>${action.label}</button> <a href="${context.href(path.replace(/\/[^/]*$/, '') || '/')}">Cancel</a></p>`,
      ]),
    ],
  }
}
