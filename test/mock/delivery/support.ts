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
import { type Captured, capture, create, FEATURE, seed, toProduct } from '../support.ts'

/** Start of the manual clocks in these tests: 31 October 2024, 14:41:44 UTC. */
export const NOW = 1730385704000

export const CREATED: MockEvent = { serviceName: 'Parcels', changeType: 'FeaturesCreated' }

/** A feature service webhook for all change types, without a schedule. */
export const PLAIN: Webhook = { ...FEATURE, changeTypes: ['*'], scheduleInfo: {} }

/** A schedule that starts at {@link NOW}. */
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

/** A receiver whose requests a test can wait for. */
export interface Waiting {
  url: string
  requests: Captured[]
  /** Resolves when this number of requests has arrived in total. */
  arrived(count: number): Promise<void>
}

/** @param respond sends the response; its first argument is the number of the request, starting at 1 */
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

/** Responds with these statuses in order, then always with the last one. */
export const answering =
  (...statuses: number[]) =>
  (number: number, ...[, res]: Parameters<RequestListener>): void =>
    void res.writeHead(statuses[Math.min(number, statuses.length) - 1] ?? 200).end()

/** Creates a service with default settings and a manual clock. */
export function createAt(
  webhooks: Webhook[],
  options: MockServiceOptions = {},
  start = NOW,
): { service: MockService; clock: ManualClock } {
  const clock = createManualClock(start)
  const service = create(webhooks, {
    clock,
    settings: {},
    ...options,
    like: { window: { webhooks: 'scheduled' }, ...toProduct(options.like) },
  })
  return { service, clock }
}

/** Parses the payload of an attempt or a received request. */
export const payloadOf = <T = Payload>({ body }: { body: Uint8Array }): T =>
  JSON.parse(Buffer.from(body).toString())

/** The members that tests read from payloads of the service dialect. */
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

/** Changes all webhooks of a service. */
export function alter(service: MockService, changes: Partial<Webhook>): void {
  const snapshot = service.snapshot()
  service.restore({ ...snapshot, webhooks: snapshot.webhooks.map((webhook) => ({ ...webhook, ...changes })) })
}

/** Creates webhooks that share a payload URL. `webhooks` contains the changes to {@link PLAIN} by webhook id. */
export const named = (hookUrl: string, webhooks: Record<string, Partial<Webhook>>): Webhook[] =>
  Object.entries(webhooks).map(([id, changes]) => seed(PLAIN, { id, name: id, hookUrl, ...changes }))
