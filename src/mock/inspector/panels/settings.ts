import { configInvalid } from '../../../errors.ts'
import { html, renderTable, toCount } from '../../../inspector/html/template.ts'
import type { Field, Panel, Values } from '../../../inspector/source.ts'
import { settingsFields } from '../../admin/fields.ts'
import { changeSettings } from '../../admin/routes.ts'
import type { Clock, ManualClock } from '../../clock.ts'
import {
  EXTRACTION_STEPS,
  type ExtractionStep,
  FAULTS,
  type Fault,
  type FaultName,
  IGNORABLE_MEMBERS,
  unitOf,
} from '../../faults/faults.ts'
import type { Mock } from '../../service.ts'
import { afterOperation, webhookChoices, webhookName } from './webhooks.ts'

/** How deliveries are retried, and when a webhook is deactivated. */
export const createSettingsPanel = (mock: Mock): Panel => ({
  name: 'settings',
  title: 'Settings',
  summary: async () => toCount(mock.state.settings.notificationAttempts, 'attempt'),
  render: async () =>
    renderTable(
      ['Setting', 'Value', 'Meaning'],
      settingsFields(mock.state.settings).map(({ label, value, hint }) => [label, value, hint]),
    ),
  actions: [
    {
      name: 'change',
      label: 'Change',
      fields: () => settingsFields(mock.state.settings),
      run: (_entry, values) =>
        afterOperation(mock, changeSettings(mock, values), 'The settings are changed.'),
    },
  ],
})

const MAX_SECONDS = 366 * 86_400

/** The clock of the service, which the user can advance. */
export const createClockPanel = (clock: ManualClock): Panel => ({
  name: 'clock',
  title: 'Clock',
  summary: async () => `${isoNow(clock).slice(11, 19)} UTC`,
  render: async () =>
    html`<p>The clock of the service shows <strong>${isoNow(clock)}</strong>. Windows, retries and tokens follow it.</p>`,
  actions: [
    {
      name: 'advance',
      label: 'Advance',
      fields: () => [
        {
          name: 'seconds',
          label: 'Seconds',
          kind: 'number',
          value: '60',
          hint: `At most ${MAX_SECONDS}. Windows close and retries are made as if the time had passed.`,
          isRequired: true,
        },
      ],
      async run(_entry, values) {
        const seconds = readNumber('seconds', values) ?? Infinity
        if (seconds > MAX_SECONDS) throw configInvalid(`seconds must be a whole number up to ${MAX_SECONDS}`)
        await clock.advance(seconds * 1000)
        return { message: `The clock shows ${isoNow(clock)}.` }
      },
    },
  ],
})

/** A clock of the user's own may show any number. */
function isoNow(clock: Clock): string {
  const now = new Date(clock.now())
  return Number.isNaN(now.getTime()) ? 'an invalid time' : now.toISOString()
}

/** Faults of the next deliveries, change extractions and requests of the administration. */
export function createFaultsPanel(mock: Mock): Panel {
  const { faults } = mock.engine
  const row = ({ fault, webhookId, times, delay, step, member }: Fault) => [
    fault,
    FAULTS[fault],
    unitOf(fault) !== 'delivery'
      ? (step ?? member ?? '')
      : webhookId
        ? webhookName(mock, webhookId)
        : 'any webhook',
    times === undefined ? 'until it is removed' : counted(times, fault),
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
        return html`<p>No faults are armed. A delivery, job or request gets the oldest fault that applies to it.</p>`
      const rows = all.slice(0, MAX_SHOWN).map((fault) => [...row(fault), button('remove', fault.id)])
      return html`${renderTable(['Fault', 'Effect', 'Applies to', 'Remaining', 'Delay', ''], rows)}
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
            step: (values.step || undefined) as ExtractionStep | undefined,
            member: (values.member || undefined) as Fault['member'],
            times: readNumber('times', values),
            delay: readNumber('delay', values),
          })
          const target =
            times === undefined
              ? `all ${PLURALS[unitOf(fault)]}`
              : `the next ${times === 1 ? unitOf(fault) : counted(times, fault)}`
          return { message: `The fault ${fault} is armed for ${target}.` }
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

const PLURALS = { delivery: 'deliveries', job: 'jobs', request: 'requests' } as const

const counted = (times: number, fault: FaultName): string =>
  `${times} ${times === 1 ? unitOf(fault) : PLURALS[unitOf(fault)]}`

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
    hint: 'Only for faults of deliveries.',
  },
  {
    name: 'step',
    label: 'Step of a change extraction',
    kind: 'choice',
    choices: [['', 'any step'], ...EXTRACTION_STEPS.map((step) => [step, step] as const)],
    hint: 'Only for token_expired, html_answer and error_with_200.',
  },
  {
    name: 'member',
    label: 'Member that an edit ignores',
    kind: 'choice',
    choices: [['', 'hookUrl, the default'], ...IGNORABLE_MEMBERS.map((name) => [name, name] as const)],
    hint: 'Only for edit_member_ignored.',
  },
  {
    name: 'times',
    label: 'Number of deliveries, jobs or requests',
    kind: 'number',
    value: '1',
    hint: 'Leave empty for all of them until the fault is removed.',
  },
  {
    name: 'delay',
    label: 'Delay in milliseconds',
    kind: 'number',
    hint: 'For reordered, delayed, slow_drip and admin_slow. Leave empty for the default.',
  },
]

function readNumber(name: string, values: Values): number | undefined {
  const text = values[name]?.trim() ?? ''
  if (text === '') return undefined
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw configInvalid(`${name} must be a whole number`)
}
