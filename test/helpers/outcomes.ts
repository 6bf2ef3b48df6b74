import {
  arcgis,
  createReceiver,
  type DuplicateStore,
  type ErrorCode,
  type Observer,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  service,
} from 'geohook'
import type { AdminCode } from 'geohook/admin'
import type { ChangesCode } from 'geohook/changes'
import type { InboxCode } from 'geohook/inbox'
import { KEY, payloadOf, signatureOf } from './deliver.ts'
import { createGate } from './gate.ts'

/** Secrets that observers must never output. Each request contains as many of them as possible. */
export const SECRETS = {
  key: KEY,
  query: 'query-secret',
  header: 'header-secret',
  body: 'Parcels',
}

const URL = `http://receiver.example/hook?token=${SECRETS.query}`

export interface Case {
  kind: Outcome['kind']
  status: number
  /** Number of requests that are still in flight when `play` resolves. Default: 0. */
  inFlight?: number
  /** Creates a receiver with this observer, and sends the request to it. */
  play(observer: Observer): Promise<{ receiver: Receiver; response: Response }>
}

type Sent = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }

interface Play {
  options?: Partial<ReceiverOptions>
  sent?: Sent
  /** Writes the body as a stream, for requests with an incomplete body. */
  stream?: (controller: ReadableStreamDefaultController) => void
  handle?: () => unknown
  before?: (request: Request, receiver: Receiver) => unknown
  /** The change type that the handler takes. Default: all. */
  changeType?: string
}

const BODY = payloadOf('FeaturesCreated')

/** Returns the `play` function of a case. By default, it sends a signed delivery that is handled. */
function play({ options, sent, stream, handle = () => {}, before, changeType = '*' }: Play): Case['play'] {
  return async (observer) => {
    const receiver = createReceiver({ signatureKey: KEY, observer, ...options }).on(changeType, handle)
    const { body = BODY, headers, ...rest } = sent ?? {}
    const request = new Request(URL, {
      method: 'POST',
      ...(rest.method === 'GET' ? {} : { body }),
      headers: {
        'content-type': 'application/json',
        'x-service': signatureOf(typeof body === 'string' ? body : BODY),
        authorization: SECRETS.header,
        traceparent: '00-11111111111111111111111111111111-2222222222222222-01',
        ...headers,
      },
      ...rest,
      ...(stream && { body: new ReadableStream({ start: stream }), duplex: 'half' }),
    } as RequestInit)
    await before?.(request, receiver)
    return { receiver, response: await receiver.fetch(request) }
  }
}

const failing = (): never => {
  throw Object.assign(new TypeError(`cannot read ${BODY}`), { code: 'ECONNREFUSED' })
}

const storeOf = (claim: 'busy' | 'done'): DuplicateStore => ({
  claim: async () => claim,
  done: async () => {},
  release: async () => {},
})

/** Sends two requests to a receiver with room for one. The first never finishes; the observer sees only the second. */
async function playBusy(observer: Observer): ReturnType<Case['play']> {
  const { gate, release } = createGate()
  let isFull = false
  const notifyIfFull = Object.entries(observer).map(([name, notify]) => [
    name,
    (notification: never) => (isFull ? notify.call(observer, notification) : undefined),
  ])
  return play({
    options: {
      observer: Object.fromEntries(notifyIfFull),
      limit: BODY.length,
      maxInFlightBytes: BODY.length,
    },
    handle() {
      release()
      return new Promise(() => {})
    },
    async before(request, receiver) {
      void receiver.fetch(request.clone())
      await gate
      isFull = true
    },
  })(observer)
}

const refused = (status: number, options: Play): Case => ({ kind: 'refused', status, play: play(options) })

/** A case for each outcome. The type enforces that every error code of a request has one. */
export const OUTCOMES: Record<
  Exclude<ErrorCode, AdminCode | ChangesCode | InboxCode | 'config_invalid'> | Outcome['kind'],
  Case
> = {
  handled: { kind: 'handled', status: 200, play: play({}) },
  unhandled: { kind: 'unhandled', status: 200, play: play({ changeType: 'FeaturesDeleted' }) },
  stored: { kind: 'stored', status: 202, play: play({ options: { inbox: { put: async () => {} } } }) },
  duplicate: { kind: 'duplicate', status: 200, play: play({ options: { duplicates: storeOf('done') } }) },
  delivery_in_progress: {
    kind: 'duplicate',
    status: 409,
    play: play({ options: { duplicates: storeOf('busy') } }),
  },
  handshake: {
    kind: 'handshake',
    status: 200,
    play: async (observer) => {
      const receiver = createReceiver({ signatureKey: KEY, profile: arcgis, observer })
      return { receiver, response: await receiver.fetch(new Request(`${URL}&crc_token=abc`)) }
    },
  },
  handshake_invalid: refused(400, { options: { profile: arcgis }, sent: { method: 'GET' } }),
  failed: { kind: 'failed', status: 500, play: play({ handle: failing }) },
  handler_failed: { kind: 'failed', status: 500, play: play({ handle: failing }) },
  inbox_unavailable: {
    kind: 'failed',
    status: 503,
    play: play({ options: { inbox: { put: async () => failing() } } }),
  },
  refused: refused(401, { sent: { headers: { 'x-service': '' } } }),
  signature_missing: refused(401, { sent: { headers: { 'x-service': '' } } }),
  signature_malformed: refused(401, { sent: { headers: { 'x-service': SECRETS.header } } }),
  signature_mismatch: refused(401, { sent: { headers: { 'x-service': '0'.repeat(64) } } }),
  key_unknown: refused(401, { options: { signatureKey: () => null } }),
  key_unavailable: refused(503, { options: { signatureKey: failing } }),
  delivery_stale: refused(400, { options: { maxAge: 1 } }),
  receiver_busy: { kind: 'refused', status: 503, inFlight: 1, play: playBusy },
  receiver_closed: refused(503, { before: (_, receiver) => receiver.close() }),
  body_too_large: refused(413, { options: { limit: 10 } }),
  body_timeout: refused(408, { options: { bodyTimeout: 1 }, stream: () => {} }),
  body_aborted: refused(400, { stream: (controller) => controller.error(new Error(BODY)) }),
  body_already_parsed: refused(500, { before: (request) => request.text() }),
  content_encoding_unsupported: refused(415, { sent: { headers: { 'content-encoding': SECRETS.header } } }),
  content_type_unsupported: refused(415, { sent: { headers: { 'content-type': SECRETS.header } } }),
  payload_malformed: refused(400, { sent: { body: `{"${SECRETS.body}` } }),
  payload_invalid: refused(400, {
    options: {
      schema: {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: BODY }] }) },
      },
    },
  }),
  method_not_allowed: refused(405, { options: { profile: service }, sent: { method: 'GET' } }),
}

export const CASES: [string, Case][] = Object.entries(OUTCOMES)
