import type { WebhookError } from '../errors.ts'
import type { Action, Done, Panel, PanelAction, Values } from './action.ts'
import type { Context, Notice } from './html/context.ts'
import type { Pane } from './html/page.ts'
import { deliveryPath } from './html/row.ts'
import { InspectorError, type InspectorResponse } from './http/message.ts'
import { actionPane, questionId } from './pages/action.ts'
import type { Item } from './source.ts'

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
async function run<Subject>(
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
