import { configInvalid, type WebhookError } from '../errors.ts'
import { isText, textOf } from './body-text.ts'
import { type Context, deliveryPath, type Pane } from './html/page.ts'
import { InspectorError, type InspectorResponse } from './http.ts'
import { actionPane, questionId } from './pages.ts'
import type { Action, Done, Field, Item, Notice, Panel, PanelAction, Values } from './source.ts'

/** One request that has passed all checks of access. */
export interface Call {
  context: Context
  /** @throws {InspectorError} 403 if a form does not come from a page of this inspector */
  requireFormSecret(values: Values): Values
  /** Redirects to a page, which shows the notice. */
  done(path: string, notice: Notice): InspectorResponse
}

type Show = (pane: Pane) => Promise<InspectorResponse>

export const showDeliveryAction = ({ context }: Call, item: Item, action: Action<Item>): Promise<Pane> =>
  actionPane(context, deliveryPath(item.id, action.name), action, item)

export async function showPanelAction({ context }: Call, panel: Panel, action: PanelAction): Promise<Pane> {
  const entry = context.request.query.get('entry') ?? ''
  return actionPane(context, `/${panel.name}/${action.name}`, action, entry, { hidden: { entry } })
}

export async function runDeliveryAction(
  call: Call,
  item: Item,
  action: Action<Item>,
  show: Show,
): Promise<InspectorResponse> {
  const values = call.requireFormSecret(await call.context.request.readForm())
  if (action.isAvailable?.(item) === false) return call.done(deliveryPath(item.id), notPossible(action, item))
  const result = (await askAgain(action, item, values)) ?? (await run(action, item, values))
  if ('rejected' in result) {
    const path = deliveryPath(item.id, action.name)
    return show(
      await actionPane(call.context, path, action, item, { rejected: { message: result.rejected, values } }),
    )
  }
  // The delivery may be gone, for example after it was discarded.
  const next = result.delivery ?? item.id
  const isThere = (await call.context.source.get(next)) !== undefined
  return call.done(isThere ? deliveryPath(next) : '/', toNotice(result))
}

export async function runPanelAction(
  call: Call,
  panel: Panel,
  action: PanelAction,
  show: Show,
): Promise<InspectorResponse> {
  const values = call.requireFormSecret(await call.context.request.readForm())
  const entry = values.entry ?? ''
  const result = (await askAgain(action, entry, values)) ?? (await run(action, entry, values))
  if ('rejected' in result) {
    const path = `/${panel.name}/${action.name}`
    const rejected = { message: result.rejected, values }
    return show(await actionPane(call.context, path, action, entry, { hidden: { entry }, rejected }))
  }
  return call.done(
    result.delivery === undefined ? `/${panel.name}` : deliveryPath(result.delivery),
    toNotice(result),
  )
}

/** For an action that was possible when the user saw its button. */
export const notPossible = ({ label }: Action<Item>, { outcome }: Item): Notice => ({
  message: `${label} is not possible now: the delivery is ${outcome.word}.`,
  ok: false,
})

const toNotice = ({ message, ok = true }: Done): Notice => ({ message, ok })

/**
 * Asks again if the form has another question than it would have now. The question names what is deleted, for example
 * three dead letters, and other requests can change that.
 */
async function askAgain<Subject>(
  action: Action<Subject>,
  subject: Subject,
  { asked }: Values,
): Promise<{ rejected: string } | undefined> {
  if (asked === undefined) return undefined
  const question = await action.question?.(subject)
  if (question !== undefined && questionId(question) === asked) return undefined
  return { rejected: 'This has changed in the meantime.' }
}

/** Runs an action. Input that the user can correct is not an error: the form is shown again. */
export async function run<Subject>(
  action: Action<Subject>,
  subject: Subject,
  values: Values,
): Promise<Done | { rejected: string }> {
  if (action.isAvailable?.(subject) === false)
    throw new InspectorError(409, `${action.label} is not possible now.`)
  try {
    return await action.run(subject, values)
  } catch (error) {
    // By name, because the ESM and the CommonJS build have different classes.
    const { name, code, message } = error as Partial<WebhookError>
    if (name === 'WebhookError' && code === 'config_invalid') return { rejected: message ?? '' }
    throw error
  }
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
