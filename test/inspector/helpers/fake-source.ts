import type { Item, Source } from '../../../src/inspector/source.ts'
import { type Inspectable, SOURCE } from '../../../src/inspector/source.ts'

/** A source with a few deliveries, which tests can change. */
export interface FakeSource extends Source {
  items: Item[]
  /** Names of actions that ran, with the submitted values. */
  ran: [name: string, values: Record<string, unknown>][]
  emit(ids?: readonly string[]): void
  readonly listeners: number
}

export const inspectable = (source: Source): Inspectable => ({ [SOURCE]: () => source })

export function createItem(id: string, changes: Partial<Item> = {}): Item {
  const body = new TextEncoder().encode(
    '{"serviceName":"Parcels","events":[{"eventType":"FeaturesUpdated"}]}',
  )
  return {
    id,
    time: new Date(Date.UTC(2026, 0, 2, 3, 4, 5)),
    changeTypes: ['FeaturesUpdated'],
    service: 'Parcels.FeatureServer',
    webhook: 'edits',
    target: 'http://127.0.0.1:3000/hooks',
    outcome: { tone: 'good', word: 'handled', status: 200 },
    attempts: 1,
    size: body.length,
    milliseconds: 7,
    request: {
      method: 'POST',
      url: '/hooks',
      headers: [
        ['content-type', 'application/json'],
        ['x-service', 'ab'.repeat(32)],
      ],
      body,
      contentType: 'application/json',
    },
    attemptLog: [{ number: 1, time: new Date(0), tone: 'good', result: '200', milliseconds: 7 }],
    facts: [],
    signature: { state: 'verified', name: 'x-service', expectedEncoding: 'hex or base64', encoding: 'hex' },
    ...changes,
  }
}

export function createFakeSource(items: Item[] = [createItem('d1')]): FakeSource {
  const listeners = new Set<(ids?: readonly string[]) => void>()
  const ran: FakeSource['ran'] = []
  return {
    title: 'geohook test',
    items,
    ran,
    get listeners() {
      return listeners.size
    },
    emit(ids) {
      for (const listener of listeners) listener(ids)
    },
    filters: async () => ({
      service: ['Parcels.FeatureServer'],
      webhook: ['edits'],
      type: ['FeaturesUpdated'],
      outcome: ['handled', 'refused'],
    }),
    list: async () => ({ rows: items }),
    get: async (id) => items.find((item) => item.id === id),
    actions: [
      {
        name: 'resend',
        label: 'Resend',
        async run({ id }, values) {
          ran.push([`resend ${id}`, { ...values }])
          return { message: 'Sent again: 200.' }
        },
      },
      {
        name: 'discard',
        label: 'Discard',
        question: () => 'Discard this delivery?',
        async run({ id }, values) {
          ran.push([`discard ${id}`, { ...values }])
          items.splice(0)
          return { message: 'Discarded.' }
        },
      },
    ],
    panels: [],
    async clear() {
      items.splice(0)
    },
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
