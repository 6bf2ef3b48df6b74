import type { Attempt } from '../delivery/attempt-log.ts'
import { settingsSchema } from '../delivery-settings.ts'
import { type FaultSeed, faultSchema } from '../faults/faults.ts'
import { AdminError, waitForSave } from '../http/errors.ts'
import { check, snapshotSchema } from '../schemas.ts'
import type { Mock } from '../service.ts'
import { type SnapshotSeed, toSnapshot } from '../state/snapshot.ts'
import { toAttemptJson } from './json.ts'
import type { ControlOperation, ControlRequest } from './operation.ts'
import { streamNotices } from './stream.ts'
import { trigger, triggerSchema } from './trigger.ts'

const MAX_PAGE = 1000
const DEFAULT_PAGE = 50
const partialSettings = settingsSchema.partial()
const SUCCESS = { status: 'success' }

/** All operations except `openapi.json`. The router and the OpenAPI document are generated from this table. */
export const OPERATIONS: readonly ControlOperation[] = [
  {
    method: 'post',
    path: '/trigger',
    summary: 'Triggers an event on a service, or several events at once',
    body: triggerSchema,
    responses: { 200: 'Deliveries', 202: 'Deliveries' },
    run: trigger,
  },
  {
    method: 'get',
    path: '/deliveries',
    summary: 'The attempts of all deliveries, oldest first',
    query: {
      limit: {
        description: 'Maximum number of attempts',
        schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE },
      },
      after: { description: 'Id of an attempt: returns later ones only', schema: { type: 'string' } },
      webhookId: { description: 'Returns attempts of this webhook only', schema: { type: 'string' } },
    },
    responses: { 200: 'Deliveries' },
    run: listAttempts,
  },
  {
    method: 'get',
    path: '/deliveries/:id',
    summary: 'One attempt, with its request and response',
    responses: { 200: 'Delivery' },
    run: (mock, request) => toAttemptJson(findAttempt(mock, request)),
  },
  {
    method: 'get',
    path: '/deliveries/:id/body',
    summary: 'The bytes that were sent',
    responses: { 200: 'Bytes' },
    run(mock, request, res) {
      res.type('application/octet-stream').send(Buffer.from(findAttempt(mock, request).request.body))
    },
  },
  {
    method: 'post',
    path: '/deliveries/:id/redeliver',
    summary: 'Sends an attempt once more, byte for byte',
    responses: { 200: 'Deliveries' },
    async run(mock, request) {
      return { deliveries: [toAttemptJson(await mock.engine.redeliver(findAttempt(mock, request)))] }
    },
  },
  {
    method: 'get',
    path: '/faults',
    summary: 'The active faults',
    responses: { 200: 'Faults' },
    run: ({ engine }) => ({ faults: engine.faults.list() }),
  },
  {
    method: 'post',
    path: '/faults',
    summary: 'Injects a fault into the next deliveries or change extractions',
    body: faultSchema,
    responses: { 200: 'Fault' },
    run: ({ engine }, { body }) => engine.faults.add(body as FaultSeed),
  },
  {
    method: 'delete',
    path: '/faults',
    summary: 'Removes all faults',
    responses: { 200: 'Status' },
    run({ engine }) {
      engine.faults.clear()
      return SUCCESS
    },
  },
  {
    method: 'delete',
    path: '/faults/:id',
    summary: 'Removes one fault',
    responses: { 200: 'Status' },
    run({ engine }, { id }) {
      if (!engine.faults.remove(id)) throw new AdminError(404, 'the fault does not exist')
      return SUCCESS
    },
  },
  {
    method: 'get',
    path: '/settings',
    summary: 'The delivery settings',
    responses: { 200: 'Settings' },
    run: ({ state }) => state.settings,
  },
  {
    method: 'post',
    path: '/settings',
    summary: 'Changes the given settings',
    body: partialSettings,
    responses: { 200: 'Settings' },
    async run({ state, save }, { body }) {
      state.settings = { ...state.settings, ...check<object>(partialSettings, body, 'body') }
      await waitForSave(save)
      return state.settings
    },
  },
  {
    method: 'post',
    path: '/reset',
    summary: 'Returns to the seeds, and drops recorded attempts, faults and gathered events',
    responses: { 200: 'Status' },
    async run({ reset, save }) {
      reset()
      await waitForSave(save)
      return SUCCESS
    },
  },
  {
    method: 'get',
    path: '/snapshot',
    summary: 'All services, webhooks with their keys, settings, counted failures and last handshakes',
    responses: { 200: 'Snapshot' },
    run: ({ state }) => toSnapshot(state),
  },
  {
    method: 'post',
    path: '/restore',
    summary:
      'Replaces all services, webhooks, settings, failures and handshakes with a snapshot, or a part of one',
    body: snapshotSchema,
    limit: '16mb',
    responses: { 200: 'Status' },
    async run({ restore, save }, { body }) {
      restore(body as SnapshotSeed)
      await waitForSave(save)
      return SUCCESS
    },
  },
  {
    method: 'get',
    path: '/events',
    summary: 'Notices as server-sent events: attempt, webhook, handshake, not_sent, restored',
    responses: { 200: 'Stream' },
    run({ listeners }, _request, res) {
      streamNotices(listeners, res)
    },
  },
]

/** @throws {AdminError} 404 */
function findAttempt({ engine }: Mock, { id }: ControlRequest): Attempt {
  const attempt = engine.log.get(id)
  if (!attempt) throw new AdminError(404, 'the delivery does not exist')
  return attempt
}

/** @throws {AdminError} 400 for an invalid limit, 404 if the log has no attempt with the id `after` */
function listAttempts({ engine }: Mock, { query }: ControlRequest): object {
  const { limit = String(DEFAULT_PAGE), after, webhookId } = query
  const count = Number(limit)
  if (!/^\d{1,4}$/.test(limit) || count < 1 || count > MAX_PAGE)
    throw new AdminError(400, `limit must be a number from 1 to ${MAX_PAGE}`)
  const page = engine.log.page({ limit: count, after, webhookId })
  if (!page) throw new AdminError(404, 'there is no delivery with the id after')
  return { deliveries: page.attempts.map(toAttemptJson), next: page.next ?? null }
}
