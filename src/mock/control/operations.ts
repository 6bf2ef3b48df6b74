import { type FaultSeed, faultSchema } from '../delivery/faults.ts'
import { settingsSchema } from '../delivery-settings.ts'
import { AdminError } from '../http/errors.ts'
import { saved } from '../http/saved.ts'
import { check, snapshotSchema } from '../schemas.ts'
import { type SnapshotSeed, toSnapshot } from '../state/snapshot.ts'
import { toAttemptJson } from './attempt-json.ts'
import { attemptOf, listDeliveries, PAGE_PARAMETERS } from './deliveries.ts'
import type { ControlOperation } from './operation.ts'
import { stream } from './stream.ts'
import { trigger, triggerSchema } from './trigger.ts'

const partialSettings = settingsSchema.partial()
const SUCCESS = { status: 'success' }

/** Every operation but the description of them all: the router and that description are both made from this table. */
export const OPERATIONS: readonly ControlOperation[] = [
  {
    method: 'post',
    path: '/trigger',
    summary: 'Lets something happen on a service, or several things at once',
    body: triggerSchema,
    answers: { 200: 'Deliveries', 202: 'Deliveries' },
    run: trigger,
  },
  {
    method: 'get',
    path: '/deliveries',
    summary: 'The attempts of all deliveries, oldest first',
    query: PAGE_PARAMETERS,
    answers: { 200: 'Deliveries' },
    run: listDeliveries,
  },
  {
    method: 'get',
    path: '/deliveries/:id',
    summary: 'One attempt, with what was sent and what was answered',
    answers: { 200: 'Delivery' },
    run: (core, request) => toAttemptJson(attemptOf(core, request)),
  },
  {
    method: 'get',
    path: '/deliveries/:id/body',
    summary: 'The bytes that were sent',
    answers: { 200: 'Bytes' },
    run(core, request, res) {
      res.type('application/octet-stream').send(Buffer.from(attemptOf(core, request).request.body))
    },
  },
  {
    method: 'post',
    path: '/deliveries/:id/redeliver',
    summary: 'Sends an attempt once more, byte for byte',
    answers: { 200: 'Deliveries' },
    async run(core, request) {
      return { deliveries: [toAttemptJson(await core.engine.redeliver(attemptOf(core, request)))] }
    },
  },
  {
    method: 'get',
    path: '/faults',
    summary: 'The faults that are set',
    answers: { 200: 'Faults' },
    run: ({ engine }) => ({ faults: engine.faults.list() }),
  },
  {
    method: 'post',
    path: '/faults',
    summary: 'Sets a fault for deliveries to come',
    body: faultSchema,
    answers: { 200: 'Fault' },
    run: ({ engine }, { body }) => engine.faults.add(body as FaultSeed),
  },
  {
    method: 'delete',
    path: '/faults',
    summary: 'Removes all faults',
    answers: { 200: 'Status' },
    run({ engine }) {
      engine.faults.clear()
      return SUCCESS
    },
  },
  {
    method: 'delete',
    path: '/faults/:id',
    summary: 'Removes one fault',
    answers: { 200: 'Status' },
    run({ engine }, { id }) {
      if (!engine.faults.remove(id)) throw new AdminError(404, 'there is no such fault')
      return SUCCESS
    },
  },
  {
    method: 'get',
    path: '/settings',
    summary: 'How deliveries are tried',
    answers: { 200: 'Settings' },
    run: ({ state }) => state.settings,
  },
  {
    method: 'post',
    path: '/settings',
    summary: 'Changes the settings that are given',
    body: partialSettings,
    answers: { 200: 'Settings' },
    async run({ state, save }, { body }) {
      state.settings = { ...state.settings, ...check<object>(partialSettings, body, 'body') }
      await saved(save)
      return state.settings
    },
  },
  {
    method: 'post',
    path: '/reset',
    summary: 'Back to the beginning: the seeds, no record, no faults, no gathered events',
    answers: { 200: 'Status' },
    async run({ reset, save }) {
      reset()
      await saved(save)
      return SUCCESS
    },
  },
  {
    method: 'get',
    path: '/snapshot',
    summary: 'All services and webhooks, with their keys, the settings, and the failures that count',
    answers: { 200: 'Snapshot' },
    run: ({ state }) => toSnapshot(state),
  },
  {
    method: 'post',
    path: '/restore',
    summary: 'Puts a snapshot, or a part of one, in place of all services, webhooks, settings and failures',
    body: snapshotSchema,
    limit: '16mb',
    answers: { 200: 'Status' },
    async run({ restore, save }, { body }) {
      restore(body as SnapshotSeed)
      await saved(save)
      return SUCCESS
    },
  },
  {
    method: 'get',
    path: '/events',
    summary: 'What happens, as server-sent events: attempt, webhook, restored',
    answers: { 200: 'Stream' },
    run({ notices }, _request, res) {
      stream(notices, res)
    },
  },
]
