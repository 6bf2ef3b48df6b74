import { createServer } from 'node:http'
import {
  type Cause,
  createReceiver,
  type Diagnosis,
  type ErrorCode,
  explain,
  type Receiver,
  type ReceiverOptions,
} from 'geohook'
import { webhook } from 'geohook/node'
import { expect, onTestFinished, vi } from 'vitest'
import { FIXES } from '../../src/explain/causes.ts'
import { type Sent, send } from '../helpers/http.ts'
import { expectNoSecrets, hmac, KEY } from './table.ts'

export const NOW = 1_730_385_704_000
export const JSON_TYPE = { 'content-type': 'application/json' }
export const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

export type Seen = Parameters<NonNullable<NonNullable<ReceiverOptions['observer']>['refused']>>[0]

/** A request that a receiver refuses. The signature is right unless the headers have another one. */
export interface Row {
  cause: Cause
  name: string
  evidence: RegExp
  request?: Sent & { path?: string }
  options?: Partial<ReceiverOptions>
  /** True if the caller of `explain` has the body although the receiver did not read it, as `geohook listen`. */
  isBodyKnown?: true
}

/** Starts a server whose receiver records what it refuses, and returns its address. */
export async function serve(
  options: Partial<ReceiverOptions>,
): Promise<{ url: string; seen: Promise<Seen>; receiver: Receiver }> {
  let resolve: (seen: Seen) => void = () => {}
  const seen = new Promise<Seen>((done) => {
    resolve = done
  })
  const refused = (ended: Seen) => resolve(ended)
  const receiver = createReceiver({
    signatureKey: KEY,
    clock: () => NOW,
    ...options,
    observer: { refused, failed: refused, duplicate: refused as never },
  } as ReceiverOptions).on('*', () => {
    if (options.profile === undefined && failing.has(options)) throw new Error('handlers fail here')
  })
  const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  onTestFinished(() => void server.close().closeAllConnections())
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, seen, receiver }
}

/** Waits until the receiver is reading the body of a request. */
export const untilInFlight = (receiver: Receiver): Promise<void> =>
  vi.waitFor(async () => expect((await receiver.stats()).inFlight).toBe(1), { timeout: 60_000 })

/** Options of receivers whose handlers fail. */
export const failing = new WeakSet<object>()

export const signed = (body: Uint8Array | string): Record<string, string> => ({
  'x-service': hmac(KEY, body).toString('hex'),
})

/** Sends the request to a receiver, and explains what its observer gets. */
export async function refuse({
  request = {},
  options = {},
  isBodyKnown,
}: Pick<Row, 'request' | 'options' | 'isBodyKnown'>) {
  const { path = '/hooks/parcels', body = '', headers = {}, ...rest } = request
  const { url, seen } = await serve(options)
  await send(url + path, {
    ...rest,
    body,
    headers: { ...signed(body), ...headers } as Record<string, string>,
  })
  const ended = await seen
  return explainSeen(isBodyKnown ? { ...ended, body: Buffer.from(body) } : ended, options)
}

export async function explainSeen(
  { error, request, body }: Seen,
  options: Partial<ReceiverOptions>,
): Promise<{ code: ErrorCode; diagnosis: Diagnosis }> {
  const { observer: _, ...rest } = options
  const receiver = { signatureKey: KEY, clock: () => NOW, ...rest }
  const { method, url, headers } = request
  const diagnosis = await explain({ method, url, headers, body, code: error.code }, receiver)
  const { cause, also } = diagnosis
  if (!also) expect(diagnosis.fix).toBe(FIXES[cause])
  expect(diagnosis.evidence).toMatch(/^[A-Z].{5,}\.$/)
  expectNoSecrets(diagnosis, { body: body ?? '', signatureKey: KEY, headers: {} } as never)
  return { code: error.code, diagnosis }
}

/** Codes that depend on the state of the receiver: refusal-codes.test.ts causes each. */
export const STATE_CODES = [
  'handler_failed',
  'inbox_unavailable',
  'delivery_in_progress',
  'receiver_closed',
  'receiver_busy',
  'body_timeout',
  'body_aborted',
  'body_already_parsed',
] as const
