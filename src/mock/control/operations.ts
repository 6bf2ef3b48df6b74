import type { Response } from 'express'
import { z } from 'zod'
import { AdminError } from '../administration/errors.ts'
import type { Core } from '../core.ts'
import type { Attempt } from '../delivery/attempts.ts'
import { type FaultSeed, faultSchema } from '../delivery/faults.ts'
import type { MockEvent } from '../events.ts'
import { check, eventSchema, snapshotSchema } from '../schemas.ts'
import { settingsSchema } from '../settings.ts'
import { type SnapshotSeed, toSnapshot } from '../snapshot.ts'
import { warn } from '../warn.ts'
import { toAttemptJson } from './attempt-json.ts'
import type { ControlOperation, ControlRequest } from './operation.ts'
import { stream } from './stream.ts'

const wait = z
  .boolean()
  .optional()
  .meta({ description: 'Whether the answer waits for the last attempt; default true' })
const triggerOne = z.object(eventSchema.shape).extend({ wait }).strict()
const triggerSeveral = z.strictObject({ events: z.array(eventSchema).min(1).max(1000), wait })
const partialSettings = settingsSchema.partial()

const SUCCESS = { status: 'success' }

function attemptOf({ engine }: Core, id: string): Attempt {
  const attempt = engine.log.get(id)
  if (!attempt) throw new AdminError(404, 'there is no such delivery')
  return attempt
}

async function trigger(core: Core, { body }: ControlRequest, res: Response): Promise<object> {
  const { wait: waits = true, ...given } = Object.hasOwn(body as object, 'events')
    ? check<{ events: MockEvent[]; wait?: boolean }>(triggerSeveral, body, 'body')
    : check<MockEvent & { wait?: boolean }>(triggerOne, body, 'body')
  const attempts = core.notify(core.select('events' in given ? given.events : given))
  if (waits) return { deliveries: (await attempts).map(toAttemptJson) }
  attempts.catch(warn) // a receiver's failure is no error
  res.status(202)
  return { deliveries: [] }
}

function listDeliveries(
  { engine }: Core,
  { query: { limit = '50', after, webhookId } }: ControlRequest,
): object {
  const count = Number(limit)
  if (!/^\d{1,4}$/.test(limit) || count < 1 || count > 1000)
    throw new AdminError(400, 'limit must be a number from 1 to 1000')
  const page = engine.log.page({ limit: count, after, webhookId })
  if (!page) throw new AdminError(404, 'there is no delivery with the id after')
  return { deliveries: page.attempts.map(toAttemptJson), next: page.next ?? null }
}

/** Every operation but the description of them all: the router and that description are both made from this table. */
export const OPERATIONS: readonly ControlOperation[] = [
  {
    method: 'post',
    path: '/trigger',
    summary: 'Lets something happen on a service, or several things at once',
    body: z.union([triggerOne, triggerSeveral]),
    answers: { 200: 'Deliveries', 202: 'Deliveries' },
    run: trigger,
  },
  {
    method: 'get',
    path: '/deliveries',
    summary: 'The attempts of all deliveries, oldest first',
    query: {
      limit: 'How many at most, 1 to 1000; default 50',
      after: 'The id of an attempt: only later ones',
      webhookId: 'Only those of this webhook',
    },
    answers: { 200: 'Deliveries' },
    run: listDeliveries,
  },
  {
    method: 'get',
    path: '/deliveries/:id',
    summary: 'One attempt, with what was sent and what was answered',
    answers: { 200: 'Delivery' },
    run: (core, { id }) => toAttemptJson(attemptOf(core, id)),
  },
  {
    method: 'get',
    path: '/deliveries/:id/body',
    summary: 'The bytes that were sent',
    answers: { 200: 'Bytes' },
    run(core, { id }, res) {
      res.type('application/octet-stream').send(Buffer.from(attemptOf(core, id).request.body))
    },
  },
  {
    method: 'post',
    path: '/deliveries/:id/redeliver',
    summary: 'Sends an attempt once more, byte for byte',
    answers: { 200: 'Deliveries' },
    async run(core, { id }) {
      return { deliveries: [toAttemptJson(await core.engine.redeliver(attemptOf(core, id)))] }
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
      await save()
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
      await save()
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
    summary: 'Puts a snapshot, or a part of one, in place of all that there is',
    body: snapshotSchema,
    answers: { 200: 'Status' },
    async run({ restore, save }, { body }) {
      restore(body as SnapshotSeed)
      await save()
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
