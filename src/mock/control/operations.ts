import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { canAdvance } from '../clock.ts'
import { settingsSchema } from '../delivery-settings.ts'
import { type Listeners, warn } from '../event-listeners.ts'
import { type FaultSeed, faultSchema } from '../faults/faults.ts'
import { AdminError, toErrorBody, waitForSave } from '../http/errors.ts'
import { type Answer, type OperationDescription, optional, type Route, schemaRef } from '../http/operation.ts'
import { readAll } from '../http/request.ts'
import { createHandler, type Handler, sendBytes } from '../http/router.ts'
import { openApiDocument } from '../openapi/document.ts'
import { check, eventSchema, snapshotSchema } from '../schemas.ts'
import type { Mock, Recipients } from '../service.ts'
import { MAX_TRIGGERED, type MockEvent } from '../state/events.ts'
import type { Attempt } from '../state/records.ts'
import { type SnapshotSeed, toSnapshot } from '../state/snapshot.ts'

/** Milliseconds between heartbeat comments, which keep proxies from closing the connection. */
const HEARTBEAT = 15_000
/** Maximum number of buffered bytes. Beyond this, the client is too slow, and its connection is closed. */
const MAX_BACKLOG = 4 * 1024 * 1024

/** Sends notices as server-sent events (HTML Living Standard, section 9.2) until the client disconnects. */
function streamNotices(listeners: Listeners, res: ServerResponse): void {
  let id = 0
  const write = (text: string): void => {
    if (res.writableLength > MAX_BACKLOG) res.destroy()
    else res.write(text)
  }
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  if (res.req.method === 'HEAD') return void res.end()
  write(': connected\n\n')
  const removeListener = listeners.on((notice) => {
    const { type, ...rest } = notice
    const data = notice.type === 'attempt' ? toAttemptJson(notice.attempt) : rest
    id += 1
    write(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  })
  const heartbeat = setInterval(() => write(': still here\n\n'), HEARTBEAT)
  res.on('close', () => {
    removeListener()
    clearInterval(heartbeat)
  })
}

/** An attempt as JSON, with its body in base64. */
const toAttemptJson = ({ request, ...attempt }: Attempt): object => ({
  ...attempt,
  request: { ...request, body: Buffer.from(request.body).toString('base64') },
})

const waitSchema = z
  .boolean()
  .optional()
  .meta({ description: 'Whether the response waits for the last attempt; default true' })
const singleEvent = eventSchema.extend({ wait: waitSchema })
const severalOf = (event: z.ZodType) =>
  z.strictObject({ events: z.array(event).min(1).max(MAX_TRIGGERED), wait: waitSchema })

/** Does not check the events: `findRecipients` checks them one by one, and stops at the first invalid one. */
const severalEvents = severalOf(z.unknown())

/** Triggers events, and waits for their deliveries unless the request says `"wait": false`. */
async function trigger(mock: Mock, { json }: { json: unknown }): Promise<Answer> {
  const { wait = true, ...given } = Object.hasOwn(json as object, 'events')
    ? check<{ events: MockEvent[]; wait?: boolean }>(severalEvents, json, 'body')
    : check<MockEvent & { wait?: boolean }>(singleEvent, json, 'body')
  const recipients = mock.findRecipients('events' in given ? given.events : given)
  const delivered = mock.deliver(recipients)
  if (!wait) {
    delivered.catch(warn)
    return { status: 202, body: { deliveries: [] } }
  }
  const attempts = await delivered
  const notSent = findNotSent(mock, recipients, attempts)
  return { body: { deliveries: attempts.map(toAttemptJson), ...(notSent.length > 0 ? { notSent } : {}) } }
}

/** Finds the webhooks that get no deliveries, because their last handshake failed. */
function findNotSent(
  { engine, state }: Mock,
  recipients: Recipients,
  attempts: readonly Attempt[],
): { webhookId: string; reason: string }[] {
  if (!engine.handshakes) return []
  const sent = new Set(attempts.map(({ webhookId }) => webhookId))
  return [...recipients.keys()].flatMap((webhookId) => {
    const reason = state.handshakes.get(webhookId)?.reason
    return reason === undefined || sent.has(webhookId) ? [] : [{ webhookId, reason }]
  })
}

const MAX_PAGE = 1000
const DEFAULT_PAGE = 50
const MAX_ADVANCE = 366 * 86_400_000
const partialSettings = settingsSchema.partial()
const clockSchema = z.strictObject({
  advance: z
    .int()
    .min(0)
    .max(MAX_ADVANCE)
    .meta({ description: 'Milliseconds to add to the time, up to 366 days' }),
})
const SUCCESS = { body: { status: 'success' } }

interface ControlOperation extends OperationDescription {
  /** Path below `/_mock`. */
  path: string
  /** Maximum body size in MB. Default 1. */
  limit?: number
  /** Success statuses, each with the name of the response's schema in the OpenAPI document. */
  responses: Record<number, string>
  run(mock: Mock, request: ControlRequest): Answer | Promise<Answer>
}

/** A request whose query and body have been parsed. */
interface ControlRequest {
  id: string
  /** The values of the parameters. Absent ones are left out. */
  query: Record<string, unknown>
  json: unknown
}

/** All operations except `openapi.json`. */
const OPERATIONS: readonly ControlOperation[] = [
  {
    path: '/trigger',
    methods: ['POST'],
    summary: 'Triggers an event on a service, or several events at once',
    body: z.union([singleEvent, severalOf(eventSchema)]),
    responses: { 200: 'Deliveries', 202: 'Deliveries' },
    run: trigger,
  },
  {
    path: '/deliveries',
    methods: ['GET'],
    summary: 'The attempts of all deliveries, oldest first',
    parameters: [
      optional('limit', 'Maximum number of attempts', {
        type: 'integer',
        minimum: 1,
        maximum: MAX_PAGE,
        default: DEFAULT_PAGE,
      }),
      optional('after', 'Id of an attempt: returns later ones only'),
      optional('webhookId', 'Returns attempts of this webhook only'),
    ],
    responses: { 200: 'Deliveries' },
    run: listAttempts,
  },
  {
    path: '/deliveries/{id}',
    methods: ['GET'],
    summary: 'One attempt, with its request and response',
    responses: { 200: 'Delivery' },
    run: (mock, request) => ({ body: toAttemptJson(findAttempt(mock, request)) }),
  },
  {
    path: '/deliveries/{id}/body',
    methods: ['GET'],
    summary: 'The bytes that were sent',
    responses: { 200: 'Bytes' },
    run(mock, request) {
      const bytes = findAttempt(mock, request).request.body
      return { send: (res) => sendBytes(res, bytes, { 'content-type': 'application/octet-stream' }) }
    },
  },
  {
    path: '/deliveries/{id}/redeliver',
    methods: ['POST'],
    summary: 'Sends an attempt once more, byte for byte',
    responses: { 200: 'Deliveries' },
    async run(mock, request) {
      const attempt = await mock.engine.redeliver(findAttempt(mock, request))
      return { body: { deliveries: [toAttemptJson(attempt)] } }
    },
  },
  {
    path: '/faults',
    methods: ['GET'],
    summary: 'The active faults',
    responses: { 200: 'Faults' },
    run: ({ engine }) => ({ body: { faults: engine.faults.list() } }),
  },
  {
    path: '/faults',
    methods: ['POST'],
    summary: 'Injects a fault into the next deliveries or change extractions',
    body: faultSchema,
    responses: { 200: 'Fault' },
    run: ({ engine }, { json }) => ({ body: engine.faults.add(json as FaultSeed) }),
  },
  {
    path: '/faults',
    methods: ['DELETE'],
    summary: 'Removes all faults',
    responses: { 200: 'Status' },
    run({ engine }) {
      engine.faults.clear()
      return SUCCESS
    },
  },
  {
    path: '/faults/{id}',
    methods: ['DELETE'],
    summary: 'Removes one fault',
    responses: { 200: 'Status' },
    run({ engine }, { id }) {
      if (!engine.faults.remove(id)) throw new AdminError(404, 'the fault does not exist')
      return SUCCESS
    },
  },
  {
    path: '/settings',
    methods: ['GET'],
    summary: 'The delivery settings',
    responses: { 200: 'Settings' },
    run: ({ state }) => ({ body: state.settings }),
  },
  {
    path: '/settings',
    methods: ['POST'],
    summary: 'Changes the given settings',
    body: partialSettings,
    responses: { 200: 'Settings' },
    async run({ state, save }, { json }) {
      state.settings = { ...state.settings, ...check<object>(partialSettings, json, 'body') }
      await waitForSave(save)
      return { body: state.settings }
    },
  },
  {
    path: '/clock',
    methods: ['GET'],
    summary: 'The time of the mock',
    responses: { 200: 'Clock' },
    run: ({ options }) => ({ body: { now: options.clock.now() } }),
  },
  {
    path: '/clock',
    methods: ['POST'],
    summary: 'Advances the clock, and waits until windows have closed and retries were made',
    body: clockSchema,
    responses: { 200: 'Clock' },
    async run({ options: { clock } }, { json }) {
      const { advance } = check<{ advance: number }>(clockSchema, json, 'body')
      if (!canAdvance(clock)) throw new AdminError(400, 'the clock of this mock has no method advance')
      await clock.advance(advance)
      return { body: { now: clock.now() } }
    },
  },
  {
    path: '/reset',
    methods: ['POST'],
    summary: 'Returns to the seeds, and drops recorded attempts, faults and gathered events',
    responses: { 200: 'Status' },
    async run(mock) {
      mock.reset()
      await waitForSave(mock.save)
      return SUCCESS
    },
  },
  {
    path: '/snapshot',
    methods: ['GET'],
    summary: 'All services, webhooks with their keys, settings, counted failures and last handshakes',
    responses: { 200: 'Snapshot' },
    run: ({ state }) => ({ body: toSnapshot(state) }),
  },
  {
    path: '/restore',
    methods: ['POST'],
    summary:
      'Replaces all services, webhooks, settings, failures and handshakes with a snapshot, or a part of one',
    body: snapshotSchema,
    limit: 16,
    responses: { 200: 'Status' },
    async run(mock, { json }) {
      mock.restore(json as SnapshotSeed)
      await waitForSave(mock.save)
      return SUCCESS
    },
  },
  {
    path: '/events',
    methods: ['GET'],
    summary: 'Notices as server-sent events: attempt, webhook, handshake, not_sent, restored',
    responses: { 200: 'Stream' },
    run: ({ listeners }) => ({ send: (res) => streamNotices(listeners, res) }),
  },
]

function findAttempt({ engine }: Mock, { id }: ControlRequest): Attempt {
  const attempt = engine.log.get(id)
  if (!attempt) throw new AdminError(404, 'the delivery does not exist')
  return attempt
}

function listAttempts({ engine }: Mock, { query }: ControlRequest): Answer {
  const {
    limit = DEFAULT_PAGE,
    after,
    webhookId,
  } = query as Partial<Record<string, string>> & { limit?: number }
  const all = engine.log.list()
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
  if (start === 0 && after !== undefined) throw new AdminError(404, 'no delivery has the id in after')
  const rest = all
    .slice(start)
    .filter((attempt) => webhookId === undefined || attempt.webhookId === webhookId)
  const attempts = rest.slice(0, limit)
  const next = rest.length > limit ? attempts.at(-1)?.id : null
  return { body: { deliveries: attempts.map(toAttemptJson), next } }
}

/** The routes, with that of the OpenAPI document, which is generated from all routes. */
const CONTROL_ROUTES: readonly Route<ControlOperation>[] = toRoutes([
  ...OPERATIONS,
  {
    path: '/openapi.json',
    summary: 'The OpenAPI document of the service',
    methods: ['GET'],
    responses: { 200: 'OpenApi' },
    run: ({ options }) => ({ body: openApiDocument(options, CONTROL_ROUTES) }),
  },
])

function toRoutes(operations: readonly ControlOperation[]): Route<ControlOperation>[] {
  return operations.map((operation) => {
    const path = `/_mock${operation.path}`
    const words = path.replace(/\W\w/g, (pair) => pair.toUpperCase()).replace(/\W/g, '')
    return {
      path,
      operation,
      tag: 'control',
      idOf: (method) => method.toLowerCase() + words,
      responsesOf: () => ({
        ...Object.fromEntries(
          Object.entries(operation.responses).map(([status, name]) => [
            status,
            { description: operation.summary, content: contentOf(name) },
          ]),
        ),
        default: { $ref: '#/components/responses/Error' },
      }),
    }
  })
}

function contentOf(name: string): object {
  if (name === 'Bytes') return { 'application/octet-stream': {} }
  if (name === 'Stream') return { 'text/event-stream': { schema: { type: 'string' } } }
  return { 'application/json': { schema: name === 'OpenApi' ? { type: 'object' } : schemaRef(name) } }
}

/** The control API, for tests in any language: it triggers events and shows their deliveries. */
export const createControlHandler = (mock: Mock): Handler =>
  createHandler<ControlOperation>({
    routes: CONTROL_ROUTES,
    limitOf: ({ limit = 1 }) => limit,
    parameters: 'query',
    async run({ operation, names, parameters, json }) {
      // If an empty `after` had no effect, a client that reads all pages would get the first one again and again.
      for (const [name, values] of parameters)
        if (values.includes('')) throw new AdminError(400, `${name} is empty`)
      const query = readAll(parameters, operation.parameters)
      return operation.run(mock, { id: names.id ?? '', query, json })
    },
    toFailure: (error) => ({ status: error.status, body: toErrorBody(error, 'messages') }),
  })
