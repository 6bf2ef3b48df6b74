import { configInvalid } from '../../../errors.ts'
import { html } from '../../../inspector/html/template.ts'
import type { Done, Field, Panel, Values } from '../../../inspector/source.ts'
import { JOB_CHANGE_TYPES } from '../../../payload/events.ts'
import { warn } from '../../event-listeners.ts'
import type { Mock } from '../../service.ts'
import type { MockEvent } from '../../state/events.ts'
import { type Service, servicePath } from '../../state/services.ts'
import { featureChangeTypesOf } from '../../versions.ts'

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

/** Triggers events on the services. */
export function createTriggerPanel(mock: Mock): Panel {
  const { services, webhooks } = mock.state
  return {
    name: 'trigger',
    title: 'Trigger',
    summary: async () => 'an event',
    async render({ button }) {
      const all = services.list()
      if (all.length === 0) return html`<p>There are no services.</p>`
      return html`<table>
<thead><tr><th scope="col">Service</th><th scope="col">Active webhooks</th><td></td></tr></thead>
<tbody>
${all.slice(0, MAX_LISTED).map(
  (
    service,
  ) => html`<tr><th scope="row">${servicePath(service)}</th><td>${[...webhooks.of(service)].filter(({ active }) => active).length}</td><td>${button('event', servicePath(service))}</td></tr>
`,
)}</tbody></table>`
    },
    actions: [
      {
        name: 'event',
        label: 'Trigger an event',
        isOnEntry: true,
        fields: (path) => fieldsOf(mock, path),
        run: async (_path, values) => trigger(mock, values),
      },
    ],
  }
}

function fieldsOf({ state, options }: Mock, path: string): Field[] {
  const all = state.services.list()
  const chosen = state.services.find(path) ?? all[0]
  const isJob = chosen?.serviceType === 'GPServer'
  const ofService = isJob ? JOB_CHANGE_TYPES : featureChangeTypesOf(options.version)
  const changeTypes = chosen?.serviceType === 'Portal' ? PORTAL_EXAMPLES : ofService
  return [
    {
      name: 'service',
      label: 'Service',
      kind: 'choice',
      value: chosen && servicePath(chosen),
      choices: all
        .slice(0, MAX_LISTED)
        .map((service) => [servicePath(service), servicePath(service)] as const),
      isRequired: true,
    },
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

/** Does not wait for the deliveries: a window can last for hours. */
function trigger({ state, engine, findRecipients, deliver }: Mock, values: Values): Done {
  const service = state.services.find(values.service ?? '')
  if (!service) throw configInvalid('the service does not exist')
  const recipients = findRecipients(toEvent(service, values))
  const ids = [...recipients.keys()]
  const schedules = ids.map(engine.scheduleOf)
  const stopped = ids.filter((id) => !engine.scheduleOf(id) && engine.handshakes?.hasFailed(id)).length
  deliver(recipients).catch(warn)
  const disabled = schedules.filter((schedule) => schedule?.state === 'disabled').length
  const gathering = schedules.filter((schedule) => schedule !== undefined).length - disabled
  const sending = recipients.size - gathering - disabled - stopped
  const parts = [
    sending > 0 && `triggered for ${count(sending, 'webhook')}`,
    gathering > 0 && `gathered for ${count(gathering, 'webhook')} until the window closes`,
    stopped > 0 && `not sent to ${count(stopped, 'webhook')} whose handshake failed`,
    disabled > 0 && `dropped for ${count(disabled, 'webhook')} whose schedule is disabled`,
  ].filter((part) => part !== false)
  if (parts.length === 0)
    return {
      message: `No active webhook of ${servicePath(service)} is subscribed to this change type.`,
      ok: false,
    }
  return { message: `${values.changeType}: ${parts.join('; ')}.`, ok: sending + gathering > 0 }
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

/** @throws {WebhookError} `config_invalid` */
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

/** @throws {WebhookError} `config_invalid` */
function readLayerIds(text: string): number[] | undefined {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.every((part) => part === '')) return undefined
  if (parts.every((part) => /^\d{1,9}$/.test(part))) return parts.map(Number)
  throw configInvalid('layerIds must be whole numbers with commas between them')
}
