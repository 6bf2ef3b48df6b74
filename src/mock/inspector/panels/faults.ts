import { configInvalid } from '../../../errors.ts'
import type { Field, Panel, Values } from '../../../inspector/action.ts'
import { html } from '../../../inspector/html/template.ts'
import { FAULTS, type Fault, type FaultName } from '../../delivery/faults.ts'
import type { Mock } from '../../service.ts'
import { webhookChoices, webhookName } from './webhook-names.ts'

/** Faults of the next deliveries. */
export function createFaultsPanel(mock: Mock): Panel {
  const { faults } = mock.engine
  const row = ({ fault, webhookId, times, delay }: Fault) => [
    fault,
    FAULTS[fault],
    webhookId === undefined ? 'any webhook' : webhookName(mock, webhookId),
    times === undefined ? 'until it is removed' : `${times} ${times === 1 ? 'delivery' : 'deliveries'}`,
    delay === undefined ? '' : `${delay} ms`,
  ]

  return {
    name: 'faults',
    title: 'Faults',
    async summary() {
      const count = faults.list().length
      return count === 0 ? 'none' : `${count} armed`
    },
    async render({ button }) {
      const all = faults.list()
      if (all.length === 0)
        return html`<p>No faults are armed. A delivery gets the oldest fault that applies to its webhook.</p>`
      return html`<table>
<thead><tr><th scope="col">Fault</th><th scope="col">Effect</th><th scope="col">Webhook</th><th scope="col">Remaining deliveries</th><th scope="col">Delay</th><td></td></tr></thead>
<tbody>
${all.slice(0, MAX_SHOWN).map(
  (
    fault,
  ) => html`<tr>${row(fault).map((cell) => html`<td>${cell}</td>`)}<td>${button('remove', fault.id)}</td></tr>
`,
)}</tbody></table>
${all.length > MAX_SHOWN ? html`<p>${all.length - MAX_SHOWN} more are not shown.</p>` : ''}`
    },
    actions: [
      {
        name: 'arm',
        label: 'Arm a fault',
        fields: () => armFields(mock),
        async run(_entry, values) {
          const { fault, times } = faults.add({
            fault: (values.fault ?? '') as FaultName,
            webhookId: values.webhook || undefined,
            times: readNumber('times', values),
            delay: readNumber('delay', values),
          })
          const next =
            times === undefined ? 'all deliveries' : times === 1 ? 'delivery' : `${times} deliveries`
          return {
            message: `The fault ${fault} is armed for the next ${next}.`.replace('the next all', 'all'),
          }
        },
      },
      {
        name: 'clear',
        label: 'Remove all',
        question: () => 'Remove all armed faults?',
        isAvailable: () => faults.list().length > 0,
        async run() {
          faults.clear()
          return { message: 'All faults are removed.' }
        },
      },
      {
        name: 'remove',
        label: 'Remove',
        isOnEntry: true,
        run: async (id) =>
          faults.remove(id)
            ? { message: 'The fault is removed.' }
            : { message: 'The fault was already removed or used.', ok: false },
      },
    ],
  }
}

const MAX_SHOWN = 200

const armFields = (mock: Mock): Field[] => [
  {
    name: 'fault',
    label: 'Fault',
    kind: 'choice',
    choices: Object.entries(FAULTS).map(([name, effect]) => [name, `${name}: ${effect}`] as const),
    isRequired: true,
  },
  {
    name: 'webhook',
    label: 'Webhook',
    kind: 'choice',
    choices: [['', 'any webhook'], ...webhookChoices(mock)],
  },
  {
    name: 'times',
    label: 'Number of deliveries',
    kind: 'number',
    value: '1',
    hint: 'Leave empty for all deliveries until the fault is removed.',
  },
  {
    name: 'delay',
    label: 'Delay in milliseconds',
    kind: 'number',
    hint: 'For reordered, delayed and slow_drip. Leave empty for the default.',
  },
]

/** @throws {WebhookError} `config_invalid` */
function readNumber(name: string, values: Values): number | undefined {
  const text = values[name]?.trim() ?? ''
  if (text === '') return undefined
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw configInvalid(`${name} must be a whole number`)
}
