import { configInvalid } from '../../../errors.ts'
import { type Html, html, renderFacts, toCount } from '../../../inspector/html/template.ts'
import { InspectorError } from '../../../inspector/http.ts'
import type { Done, Field, Panel, PanelTools, Values } from '../../../inspector/source.ts'
import { JOB_CHANGE_TYPES } from '../../../payload/events.ts'
import { count, toDuration } from '../../../shared/words.ts'
import { webhookFields } from '../../admin/fields.ts'
import { create, edit } from '../../admin/routes.ts'
import { removeWebhook, switchWebhook } from '../../admin/webhook-operations.ts'
import { needsHandshake } from '../../delivery/handshakes.ts'
import type { OpenWindow } from '../../delivery/windows.ts'
import { warn } from '../../event-listeners.ts'
import { AdminError, toConfigInvalid, waitForSave } from '../../http/errors.ts'
import type { Mock } from '../../service.ts'
import type { MockEvent } from '../../state/events.ts'
import { type Service, servicePath } from '../../state/services.ts'
import { ANYONE, type Webhook } from '../../state/webhooks.ts'
import { featureChangeTypesOf } from '../../versions.ts'
import { redactAll } from '../deliveries.ts'

/** Waits for an operation of the administration, and saves its change. */
export async function afterOperation(
  mock: Mock,
  operation: Promise<unknown>,
  message: string,
): Promise<Done> {
  try {
    await operation
  } catch (error) {
    throw toConfigInvalid(error)
  }
  return afterSave(mock, message)
}

/** Saves a change. If that fails, the message says so, because the change is made. */
export async function afterSave({ save }: Mock, message: string): Promise<Done> {
  try {
    await waitForSave(save)
    return { message }
  } catch (error) {
    if (error instanceof AdminError) return { message: error.message, ok: false }
    throw error
  }
}

/** The handshake of a webhook in words; undefined if the service makes no handshakes. */
function handshakeText({ engine }: Mock, webhookId: string): string | undefined {
  const state = engine.handshakes?.stateOf(webhookId)
  if (state === undefined) return undefined
  if (state === 'unsigned') return 'none: the webhook has no key'
  if (state === 'portal') return 'none: a portal sends a registration instead'
  if (state === 'due') return 'due before the next delivery'
  if (state === 'in flight') return 'in flight: deliveries wait for it'
  const { when, reason, notSent = 0 } = state
  const time = new Date(when).toISOString()
  if (reason === undefined) return `succeeded at ${time}`
  return `failed at ${time}: ${reason}. Deliveries are stopped; ${toCount(notSent, 'event')} not sent.`
}

/** Services with their webhooks. Its actions are operations of the administration, and events to trigger. */
export function createWebhooksPanel(mock: Mock): Panel {
  const { state, options } = mock

  const find = (id: string): Readonly<Webhook> =>
    state.webhooks.get(id) ?? notFound('This webhook does not exist. It may have been deleted.')
  const findService = (path: string): Service =>
    state.services.find(path) ?? notFound('This service does not exist.')

  return {
    name: 'webhooks',
    title: 'Services',
    async summary() {
      const { length } = state.webhooks.list()
      const stopped = state.webhooks.list().filter(({ id }) => mock.engine.handshakes?.hasFailed(id)).length
      return `${count(length, 'webhook')}${stopped > 0 ? `, ${stopped} stopped` : ''}`
    },
    render: async (tools) => renderServices(mock, tools),
    actions: [
      {
        name: 'create',
        label: 'Create a webhook',
        isOnEntry: true,
        fields: (path) => webhookFields(findService(path), options),
        run: async (path, values) =>
          afterOperation(
            mock,
            create(mock, findService(path), values),
            `The webhook ${values.name} is created.`,
          ),
      },
      {
        name: 'trigger',
        label: 'Trigger an event',
        isOnEntry: true,
        fields: (path) => eventFields(mock, findService(path)),
        run: async (path, values) => trigger(mock, findService(path), values),
      },
      {
        name: 'edit',
        label: 'Edit',
        isOnEntry: true,
        fields: (id) => webhookFields(find(id), options),
        run: async (id, values) =>
          afterOperation(
            mock,
            // An empty secret would remove that of a portal's webhook; the form does not show it.
            edit(mock, find(id), {
              ...values,
              secret: values.secret || undefined,
              signatureKey: values.signatureKey || undefined,
            }),
            `The webhook ${values.name} is edited.`,
          ),
      },
      ...[true, false].map((active) => ({
        name: active ? 'activate' : 'deactivate',
        label: active ? 'Activate' : 'Deactivate',
        isOnEntry: true,
        isAvailable: (id: string) => state.webhooks.get(id)?.active !== active,
        async run(id: string) {
          const webhook = find(id)
          switchWebhook(state, webhook, active, ANYONE)
          return afterSave(mock, `The webhook ${webhook.name} is ${active ? 'activated' : 'deactivated'}.`)
        },
      })),
      {
        name: 'handshake',
        label: 'Repeat the handshake',
        isOnEntry: true,
        isAvailable: (id) => mock.engine.handshakes !== undefined && needsHandshake(find(id)),
        async run(id) {
          mock.engine.handshakes?.repeat(id)
          return { message: `A handshake of the webhook ${find(id).name} is sent.` }
        },
      },
      {
        name: 'delete',
        label: 'Delete',
        isOnEntry: true,
        question: (id) => `Delete the webhook ${find(id).name}? It cannot be restored.`,
        async run(id) {
          const { name } = find(id)
          removeWebhook(state, id)
          return afterSave(mock, `The webhook ${name} is deleted.`)
        },
      },
    ],
  }
}

function notFound(message: string): never {
  throw new InspectorError(404, message)
}

function renderServices(mock: Mock, tools: PanelTools): Html {
  const { services, webhooks } = mock.state
  const all = services.list()
  if (all.length === 0) return html`<p>There are no services.</p>`
  const windows = new Map(mock.engine.windows.list().map((window) => [window.webhookId, window]))
  const { text: hide } = redactAll(mock)
  let left = MAX_LISTED
  const sections = all.slice(0, MAX_LISTED).map((service) => {
    const shown = webhooks.list(service).slice(0, left)
    left -= shown.length
    return html`<section aria-label="${servicePath(service)}"><h3>${servicePath(service)}</h3>
<div class="actions">${['create', 'trigger'].map((action) => tools.button(action, servicePath(service)))}</div>
${shown.map((webhook) => renderWebhook(mock, webhook, { window: windows.get(webhook.id), hide, tools }))}</section>
`
  })
  const hidden = webhooks.list().length - (MAX_LISTED - left)
  return html`${sections}${hidden > 0 ? html`<p>${hidden} more webhooks are not shown.</p>` : ''}`
}

function renderWebhook(
  mock: Mock,
  webhook: Readonly<Webhook>,
  {
    window,
    hide,
    tools,
  }: { window: OpenWindow | undefined; hide: (text: string) => string; tools: PanelTools },
): Html {
  const { id, name, changeTypes, hookUrl, active, signatureKey, contentType } = webhook
  const failures = mock.state.failures.get(id)?.length ?? 0
  const handshake = handshakeText(mock, id)
  const isStopped = mock.engine.handshakes?.hasFailed(id) === true
  return html`<article aria-label="${name}"><h4>${name} <span class="outcome ${active ? 'good' : 'neutral'}">${active ? 'active' : 'not active'}</span>${isStopped ? html` <span class="outcome bad">stopped</span>` : ''}</h4>
${renderFacts([
  ['Change types', changeTypes.join(', ')],
  ['URL', hide(hookUrl)],
  ['Content type', contentType],
  ['Key', signatureKey ? 'set' : 'not set'],
  ['Handshake', handshake && hide(handshake)],
  ['Schedule', scheduleText(mock, id)],
  ['Failures', failures === 0 ? undefined : `${failures} counted`],
  ['Window', window && windowText(window)],
])}<div class="actions">${['edit', 'activate', 'deactivate', 'handshake', 'delete'].map((action) => tools.button(action, id))}</div></article>
`
}

function scheduleText({ engine }: Mock, id: string): string {
  const schedule = engine.scheduleOf(id)
  if (!schedule) return 'none: events are sent at once'
  const { state, recurrenceInfo, startAt } = schedule
  const { interval, frequency } = recurrenceInfo
  const text = `every ${interval === 1 ? frequency : `${interval} ${frequency}s`} from ${new Date(startAt).toISOString()}`
  return state === 'enabled' ? text : `disabled: nothing is sent (${text})`
}

function windowText({ events, remaining }: OpenWindow): string {
  const gathered = `${count(events, 'event')} gathered`
  return remaining === Infinity
    ? `${gathered}; it never closes`
    : `${gathered}; closes in ${toDuration(remaining)}`
}

/** Maximum number of webhooks or services that a panel or a list of choices shows. */
export const MAX_LISTED = 500

/** Name and service of a webhook; its id if it does not exist. */
export function webhookName({ state }: Mock, id: string): string {
  const webhook = state.webhooks.get(id)
  return webhook ? `${webhook.name} of ${servicePath(webhook)}` : id
}

export const webhookChoices = (mock: Mock): [id: string, name: string][] =>
  mock.state.webhooks
    .list()
    .slice(0, MAX_LISTED)
    .map(({ id }) => [id, webhookName(mock, id)])

function eventFields({ options }: Mock, { serviceType }: Service): Field[] {
  const ofService = serviceType === 'GPServer' ? JOB_CHANGE_TYPES : featureChangeTypesOf(options.version)
  const changeTypes = serviceType === 'Portal' ? PORTAL_EXAMPLES : ofService
  return [
    {
      name: 'changeType',
      label: 'Change type',
      value: changeTypes[0],
      choices: changeTypes.map((text) => [text, text] as const),
      isRequired: true,
    },
    { name: 'layerIds', label: 'Layer ids', hint: 'Feature services: numbers with commas. Default: 0.' },
    { name: 'jobId', label: 'Job id', hint: 'Geoprocessing services. Default: a new id.' },
    { name: 'taskName', label: 'Task name', hint: 'Geoprocessing services. Default: Task.' },
  ]
}

const PORTAL_ITEM = '0123456789abcdef0123456789abcdef'
const PORTAL_EXAMPLES = [
  '/items/add',
  ...['update', 'share', 'delete'].map((name) => `/items/${PORTAL_ITEM}/${name}`),
]

/** Possible results of an event for a webhook, each with its part of the message. */
const RESULTS = {
  sent: (webhooks: string) => `triggered for ${webhooks}`,
  gathered: (webhooks: string) => `gathered for ${webhooks} until the window closes`,
  stopped: (webhooks: string) => `not sent to ${webhooks} whose handshake failed`,
  disabled: (webhooks: string) => `dropped for ${webhooks} whose schedule is disabled`,
}

/** Does not wait for the deliveries: a window can last for hours. */
function trigger(mock: Mock, service: Service, values: Values): Done {
  const { engine } = mock
  const recipients = mock.findRecipients(toEvent(service, values))
  const results = Array.from(recipients.keys(), (id): keyof typeof RESULTS => {
    const schedule = engine.scheduleOf(id)
    if (schedule) return schedule.state === 'disabled' ? 'disabled' : 'gathered'
    return engine.handshakes?.hasFailed(id) ? 'stopped' : 'sent'
  })
  mock.deliver(recipients).catch(warn)
  if (results.length === 0)
    return {
      message: `No active webhook of ${servicePath(service)} is subscribed to this change type.`,
      ok: false,
    }
  const parts = Object.entries(RESULTS).flatMap(([name, describe]) => {
    const { length } = results.filter((result) => result === name)
    return length > 0 ? describe(toCount(length, 'webhook')) : []
  })
  const ok = results.some((result) => result === 'sent' || result === 'gathered')
  return { message: `${values.changeType}: ${parts.join('; ')}.`, ok }
}

function toEvent({ folderName, serviceName, serviceType }: Service, values: Values): MockEvent {
  const { changeType = '', jobId, taskName } = values
  return {
    folderName,
    serviceName,
    serviceType,
    changeType: changeType.trim(),
    layerIds: readLayerIds(values.layerIds ?? ''),
    jobId: jobId || undefined,
    taskName: taskName || undefined,
  }
}

function readLayerIds(text: string): number[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.every((part) => part === '')) return undefined
  if (parts.every((part) => /^\d{1,9}$/.test(part))) return parts.map(Number)
  throw configInvalid('layerIds must be whole numbers with commas between them')
}
