import { EventEmitter, once } from 'node:events'
import type { RequestListener } from 'node:http'
import {
  type Attempt,
  createManualClock,
  type ManualClock,
  type MockEvent,
  type MockService,
  type MockServiceOptions,
  type ScheduleInfo,
  type Webhook,
} from 'geohook/mock'
import { type Captured, capture, create, FEATURE, seed } from '../support.ts'

/** The time at which every manual clock of these tests begins: 31 October 2024, 14:41:44 UTC. */
export const NOW = 1730385704000

export const CREATED: MockEvent = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

/** A feature service webhook without a schedule, for everything. */
export const PLAIN: Webhook = { ...FEATURE, changeTypes: ['*'], scheduleInfo: {} }

/** A schedule that begins when the clock does. */
export const every = (
  interval: number,
  frequency: ScheduleInfo['recurrenceInfo']['frequency'],
  changes: Partial<ScheduleInfo> = {},
): ScheduleInfo => ({
  name: '',
  state: 'enabled',
  startAt: NOW,
  recurrenceInfo: { interval, frequency },
  ...changes,
})

/** A payload URL of which a test can wait for what arrives. */
export interface Waiting {
  url: string
  requests: Captured[]
  /** Resolves when so many requests have arrived, from the beginning. */
  arrived(count: number): Promise<void>
}

/** @param respond answers a request; it is told the how-manieth it is, from 1 */
export async function receive(
  respond: (number: number, ...exchange: Parameters<RequestListener>) => void = (_, _req, res) => res.end(),
): Promise<Waiting> {
  const emitter = new EventEmitter()
  const { url, requests } = await capture((req, res) => {
    respond(requests.length, req, res)
    emitter.emit('arrived')
  })
  return {
    url,
    requests,
    async arrived(count) {
      while (requests.length < count) await once(emitter, 'arrived')
    },
  }
}

/** Answers with these statuses, one after another, and with the last for ever. */
export const answering =
  (...statuses: number[]) =>
  (number: number, ...[, res]: Parameters<RequestListener>): void =>
    void res.writeHead(statuses[Math.min(number, statuses.length) - 1] ?? 200).end()

/** A service that gathers as it does by default, tries as often as by default, and lives by a clock of its own. */
export function createAt(
  webhooks: Webhook[],
  options: MockServiceOptions = {},
  start = NOW,
): { service: MockService; clock: ManualClock } {
  const clock = createManualClock(start)
  const service = create(webhooks, { clock, gather: 'scheduled', settings: {}, ...options })
  return { service, clock }
}

/** The payload of an attempt, or of what arrived. */
export const payloadOf = <T = Payload>({ body }: { body: Uint8Array }): T =>
  JSON.parse(Buffer.from(body).toString())

/** What tests read of a payload of the service dialect. */
export interface Payload {
  name: string
  id: string
  serviceName: string
  changesUrl: string
  jobId?: string
  events: { eventType: string; when: number }[]
}

export const statusesOf = (attempts: readonly Attempt[]): (number | undefined)[] =>
  attempts.map(({ answer }) => answer?.status)

/** Replaces members of the one webhook that there is, at once. */
export function alter(service: MockService, changes: Partial<Webhook>): void {
  const snapshot = service.snapshot()
  service.restore({ ...snapshot, webhooks: snapshot.webhooks.map((webhook) => ({ ...webhook, ...changes })) })
}

/** Several webhooks at one payload URL, by their ids. */
export const named = (hookUrl: string, webhooks: Record<string, Partial<Webhook>>): Webhook[] =>
  Object.entries(webhooks).map(([id, changes]) => seed(PLAIN, { id, name: id, hookUrl, ...changes }))
