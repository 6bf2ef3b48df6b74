import { configInvalid } from '../../../src/errors.ts'
import { html } from '../../../src/inspector/html/template.ts'
import type { Action, Panel, Values } from '../../../src/inspector/source.ts'
import { type Inspectable, type Item, type Row, SOURCE, type Source } from '../../../src/inspector/source.ts'
import { createDelivery } from './deliveries.ts'

/** Deliveries in memory, with every kind of action and panel. */
export interface Fake extends Inspectable {
  source: Source
  /** Adds a delivery, or replaces the one with the same id. */
  put(item: Item): Item
  /** Adds the next delivery. */
  add(changes?: Partial<Item>): Item
  remove(id: string): void
  /** Reports that something other than the deliveries has changed. */
  changePanels(): void
  /** Actions that were run, with their values. */
  runs: { name: string; subject: string; values: Values }[]
}

export function createFake({
  count = 40,
  extraActions = [],
}: {
  count?: number
  extraActions?: Action<Item>[]
} = {}): Fake {
  const items = new Map<string, Item>()
  const listeners = new Set<(ids?: readonly string[]) => void>()
  const runs: Fake['runs'] = []
  let number = 0
  let isActive = true
  const emit = (ids?: readonly string[]): void => {
    for (const listener of listeners) listener(ids)
  }
  const rows = (): Item[] => [...items.values()].sort((a, b) => b.time.getTime() - a.time.getTime())
  const unique = (pick: (row: Row) => readonly (string | undefined)[]): string[] =>
    [...new Set(rows().flatMap(pick))].filter((value) => value !== undefined).sort()
  function put(item: Item): Item {
    items.set(item.id, item)
    emit([item.id])
    return item
  }
  const add: Fake['add'] = (changes) => put(createDelivery(number++, changes))
  function run(name: string, subject: string, values: Values): void {
    runs.push({ name, subject, values: { ...values } })
  }

  const actions: Action<Item>[] = [
    {
      name: 'resend',
      label: 'Resend',
      async run({ id }, values) {
        run('resend', id, values)
        const { id: delivery } = add()
        return { message: 'Sent again: 200.', delivery }
      },
    },
    {
      name: 'replay',
      label: 'Replay to …',
      fields: ({ target }) => [
        { name: 'url', label: 'URL', value: `http://127.0.0.1:3000${target}`, isRequired: true },
        { name: 'count', label: 'Times', kind: 'number', value: '1', hint: 'At most 10.' },
        { name: 'key', label: 'Signature key', kind: 'secret', hint: 'Empty: the same bytes.' },
        { name: 'note', label: 'Note', kind: 'multiline' },
        { name: 'slow', label: 'Wait between two requests', kind: 'checkbox' },
        {
          name: 'encoding',
          label: 'Encoding',
          kind: 'choice',
          choices: [
            ['hex', 'hex'],
            ['base64', 'base64'],
          ],
        },
      ],
      async run({ id }, values) {
        if (!(Number(values.count) <= 10)) throw configInvalid('count must be a number up to 10')
        run('replay', id, values)
        return { message: `Replayed ${values.count} times: 503.`, ok: false }
      },
    },
    {
      name: 'discard',
      label: 'Discard',
      question: () => 'Discard this delivery? It cannot be restored.',
      isAvailable: ({ outcome }) => outcome.tone === 'bad',
      async run({ id }, values) {
        run('discard', id, values)
        items.delete(id)
        emit([id])
        return { message: 'The delivery is discarded.' }
      },
    },
    ...extraActions,
  ]

  const webhooks: Panel = {
    name: 'webhooks',
    title: 'Webhooks',
    summary: async () => (isActive ? '1 active' : 'none active'),
    render: async ({ button, href }) => html`<table>
<thead><tr><th scope="col">Webhook</th><th scope="col">State</th><th scope="col">Change it</th></tr></thead>
<tbody><tr><th scope="row"><a href="${href(`/deliveries/${rows()[0]?.id ?? ''}`)}">parcels-v2</a></th><td id="active">${isActive ? 'active' : 'not active'}</td><td>${button('toggle', '7')}${button('delete', '7')}</td></tr></tbody></table>`,
    actions: [
      {
        name: 'toggle',
        label: 'Activate or deactivate',
        isOnEntry: true,
        async run(entry, values) {
          run('toggle', entry, values)
          isActive = !isActive
          emit()
          return { message: isActive ? 'The webhook is active.' : 'The webhook is not active.' }
        },
      },
      {
        name: 'delete',
        label: 'Delete',
        isOnEntry: true,
        question: (entry) => `Delete webhook ${entry}?`,
        async run(entry, values) {
          run('delete', entry, values)
          return { message: `Webhook ${entry} is deleted.` }
        },
      },
      {
        name: 'create',
        label: 'Create',
        fields: () => [
          { name: 'name', label: 'Name', isRequired: true },
          { name: 'hookUrl', label: 'Payload URL', hint: 'http or https' },
        ],
        async run(_, values) {
          if (!values.hookUrl?.startsWith('http')) throw configInvalid('hookUrl must be an http or https URL')
          run('create', '', values)
          return { message: `Created ${values.name}.` }
        },
      },
    ],
  }
  const clock: Panel = {
    name: 'clock',
    title: 'Clock',
    summary: async () => 'real time',
    render: async ({ time }) => html`<p>It is ${time(new Date(Date.UTC(2026, 4, 4, 4)))}.</p>`,
    actions: [],
  }

  const source: Source = {
    title: 'geohook mock',
    filters: async () => ({
      service: unique(({ service }) => [service]),
      webhook: unique(({ webhook }) => [webhook]),
      type: unique(({ changeTypes }) => changeTypes),
      outcome: unique(({ outcome }) => [outcome.word]),
    }),
    async list({ limit, after }) {
      const start = Number(after ?? 0)
      const all = rows()
      return {
        rows: all.slice(start, start + limit),
        ...(all.length > start + limit && { next: String(start + limit) }),
      }
    },
    get: async (id) => items.get(id),
    actions,
    panels: [webhooks, clock],
    async clear() {
      items.clear()
      emit()
    },
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  for (let index = 0; index < count; index++) add()
  return {
    source,
    [SOURCE]: () => source,
    put,
    add,
    remove(id) {
      items.delete(id)
      emit([id])
    },
    changePanels: () => emit(),
    runs,
  }
}
