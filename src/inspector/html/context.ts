import type { PanelTools } from '../action.ts'
import type { InspectorRequest } from '../http/message.ts'
import type { Filters, Source } from '../source.ts'
import { type Html, html } from './template.ts'

/** What pages need to know about the request and the inspector. */
export interface Context {
  source: Source
  request: InspectorRequest
  filters: Filters
  /** Hidden value of every form. */
  formSecret: string
  /** True if the page should have a button to log out. */
  hasLogin: boolean
  /** Result of the last action, shown once. */
  notice: Notice | undefined
  /** Address of a page of the inspector, with the filters of this request. */
  href(path: string, parameters?: Readonly<Record<string, string>>): string
}

/** The result of an action. */
export interface Notice {
  message: string
  ok: boolean
}

/** A form that is submitted to a page of the inspector. */
export const form = (context: Context, path: string, content: Html | readonly Html[], label?: string): Html =>
  html`<form method="post" action="${context.href(path)}"${label ? html` aria-label="${label}"` : ''}>
<input type="hidden" name="form-secret" value="${context.formSecret}">
${content}
</form>
`

/** A button that runs an action at once, or a link to the action's form. */
export function actionButton(
  context: Context,
  path: string,
  { label, isDirect }: { label: string; isDirect: boolean },
  parameters: Readonly<Record<string, string>> = {},
): Html {
  if (!isDirect) return html`<a class="button" href="${context.href(path, parameters)}">${label}</a>`
  const hidden = Object.entries(parameters).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return form(context, path, [...hidden, html`<button>${label}</button>`])
}

/** A time of day, with the whole time as its title. */
export const renderTime = (time: Date): Html => {
  if (Number.isNaN(time.getTime())) return html`<span>unknown time</span>`
  return html`<time datetime="${time.toISOString()}" title="${time.toISOString()}">${timeOfDay(time)}</time>`
}

/** A time in ISO 8601; empty if it is invalid, as a clock of the user's own can make it. */
export const isoText = (time: Date): string => (Number.isNaN(time.getTime()) ? '' : time.toISOString())

const pad = (number: number): string => String(number).padStart(2, '0')
/** In the time zone of the server, everywhere on the page. */
export const timeOfDay = (time: Date): string =>
  [time.getHours(), time.getMinutes(), time.getSeconds()].map(pad).join(':')

/** Tools for one panel. */
export const panelTools = (context: Context, name: string): PanelTools => {
  const panel = context.source.panels.find((candidate) => candidate.name === name)
  return {
    button(action, entry) {
      const found = panel?.actions.find((candidate) => candidate.name === action)
      if (!found || found.isAvailable?.(entry ?? '') === false) return html``
      const isDirect = !found.fields && !found.question
      const parameters = entry === undefined ? undefined : { entry }
      return actionButton(context, `/${name}/${action}`, { label: found.label, isDirect }, parameters)
    },
    href: (path) => context.href(path),
    time: renderTime,
  }
}
