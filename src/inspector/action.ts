import { createHash } from 'node:crypto'
import { configInvalid, type WebhookError } from '../errors.ts'
import { type Context, form, hiddenFields, type Pane, renderField } from './html/page.ts'
import { html } from './html/template.ts'
import { InspectorError, type InspectorResponse } from './http.ts'
import { isText, textOf } from './request.ts'
import type { Action, Done, Field, Item, Values } from './source.ts'

/** One request that has passed all checks of access. */
export interface Call {
  context: Context
  /** @throws {InspectorError} 403 if a form does not come from a page of this inspector */
  requireFormSecret(values: Values): Values
  /** Redirects to a page, which shows the notice. */
  done(path: string, notice: Done): InspectorResponse
}

/** An action on a delivery, a panel, or an entry of a panel. */
export interface Target<Subject> {
  action: Action<Subject>
  subject: Subject
  /** Path of the action. */
  path: string
  /** Further values of its form. */
  hidden?: Readonly<Record<string, string>>
  /** Returns the path of the page to show next. */
  next(done: Done): string | Promise<string>
}

/**
 * The form of an action, with its question.
 *
 * @param rejected what was submitted before, if that was invalid
 */
export async function actionPane<Subject>(
  context: Context,
  { action, subject, path, hidden = {} }: Target<Subject>,
  rejected?: { message: string; values: Values },
): Promise<Pane> {
  const fields = (await action.fields?.(subject)) ?? []
  const question = await action.question?.(subject)
  return {
    title: action.label,
    status: rejected ? 400 : 200,
    content: [
      html`${rejected && html`<p class="notice bad" role="alert" tabindex="-1" autofocus>${rejected.message}</p>`}`,
      html`${question && html`<p>${question}</p>`}`,
      form(context, path, [
        // The action runs only if the question is still the same.
        ...hiddenFields(question ? { asked: questionId(question), ...hidden } : hidden),
        ...fields.map((field) => renderField(field, rejected?.values)),
        html`<p class="buttons"><button>${action.label}</button> <a href="${context.href(path.replace(/\/[^/]*$/, '') || '/')}">Cancel</a></p>`,
      ]),
    ],
  }
}

/** Identifies a question. Browsers would change some characters of its text when they submit it. */
const questionId = (question: string): string => createHash('sha256').update(question).digest('base64url')

/**
 * Runs an action, and redirects to its result. Input that the user can correct is not an error: the form is returned
 * again.
 */
export async function runAction<Subject>(
  { context, done }: Call,
  target: Target<Subject>,
  values: Values,
): Promise<InspectorResponse | Pane> {
  const { action, subject } = target
  if (action.isAvailable?.(subject) === false)
    throw new InspectorError(409, `${action.label} is not possible now.`)
  try {
    await requireSameQuestion(target, values)
    const result = await action.run(subject, values)
    return done(await target.next(result), result)
  } catch (error) {
    // By name, because the ESM and the CommonJS build have different classes.
    const { name, code, message = '' } = error as Partial<WebhookError>
    if (name !== 'WebhookError' || code !== 'config_invalid') throw error
    return actionPane(context, target, { message, values })
  }
}

/**
 * Asks again if the form has another question than it would have now. The question names what is deleted, for example
 * three dead letters, and other requests can change that.
 *
 * @throws {WebhookError} `config_invalid`
 */
async function requireSameQuestion<Subject>(
  { action, subject }: Target<Subject>,
  { asked }: Values,
): Promise<void> {
  if (asked === undefined) return
  const question = await action.question?.(subject)
  if (question === undefined || questionId(question) !== asked)
    throw configInvalid('This has changed in the meantime.')
}

/** Fields to edit the body of a delivery: as text, or in hex if the form would not return the same bytes. */
export function bodyFields({ request: { body = new Uint8Array() } }: Item): Field[] {
  const asText = isText(body) && hasOneLineBreak(textOf(body))
  const value = asText
    ? textOf(body)
    : (
        Buffer.from(body)
          .toString('hex')
          .match(/.{1,64}/g) ?? []
      ).join('\n')
  return [
    { name: 'body', label: 'Body', kind: 'multiline', value: value.replaceAll('\r\n', '\n') },
    {
      name: 'body-form',
      label: 'Format of the body',
      kind: 'choice',
      value: !asText ? 'hex' : value.includes('\r\n') ? 'crlf' : 'text',
      choices: [
        ['text', 'text, line breaks LF'],
        ['crlf', 'text, line breaks CRLF'],
        ['hex', 'hex'],
      ],
    },
  ]
}

const CONTENT_TYPES = ['application/json', 'application/x-www-form-urlencoded']

export const contentTypeField = ({ request: { contentType } }: Item): Field => ({
  name: 'content-type',
  label: 'Content type',
  value: contentType || CONTENT_TYPES[0],
  choices: CONTENT_TYPES.map((text) => [text, text]),
  isRequired: true,
})

/** @throws {WebhookError} `config_invalid` */
export function readContentType({ 'content-type': text = '' }: Values): string {
  if (/^[\x20-\x7e]{1,200}$/.test(text) && text.trim() === text) return text
  throw configInvalid('the content type must be text such as application/json')
}

/** False for a text with a lone CR, or with both LF and CRLF: browsers submit all line breaks as CRLF. */
const hasOneLineBreak = (text: string): boolean => !text.includes('\r') || !/\r(?!\n)|(?<!\r)\n/.test(text)

/** @throws {WebhookError} `config_invalid` for invalid hex */
export function readBody(values: Values): Uint8Array<ArrayBuffer> {
  const { body = '', 'body-form': form = 'text' } = values
  if (form !== 'hex') return new TextEncoder().encode(form === 'crlf' ? body.replaceAll('\n', '\r\n') : body)
  const digits = body.replace(/\s/g, '')
  if (digits.length % 2 === 1 || /[^0-9a-f]/i.test(digits))
    throw configInvalid('the body in hex must have two hex digits for each byte')
  return new Uint8Array(Buffer.from(digits, 'hex'))
}
