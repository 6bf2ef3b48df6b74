import { WebhookError } from '../errors.ts'
import { utf8 } from '../signature/bytes.ts'
import type { Question } from './question.ts'
import type { Refusal } from './request.ts'

/** The part of `createReceiver` that is used here. It is passed in, so that this bundle does not contain a copy of it. */
export type CreateReceiver = (options: never) => { on(changeType: '*', handler: () => void): ReceiverPart }

interface ReceiverPart {
  receive(request: {
    method: string
    url: string
    headers: Record<string, string>
    params?: Question['params']
    read(options: { limit: number; onChunk(chunk: Uint8Array): void }): Uint8Array
    cancel(limit: number): void
  }): Promise<{ kind: string; error?: Refusal }>
}

/** A key for questions that do not depend on the key. */
export const NO_KEY: Uint8Array = utf8('explain')

/** What a receiver does with the request. */
export interface Answer {
  /** The error with which the receiver refuses the request. */
  refusal?: Refusal | undefined
  isHandshake: boolean
  /** The receiver's maximum body size in bytes. 0 if it has not refused the request. */
  limit: number
}

/** Passes a request to a receiver with the same options and these keys, but without handlers and stores. */
export async function askReceiver(
  createReceiver: CreateReceiver,
  question: Question & { body: Uint8Array },
  keys: readonly Uint8Array[],
  headers: ReadonlyMap<string, string>,
): Promise<Answer> {
  const {
    body,
    headers: _headers,
    method = 'POST',
    url = '/',
    params,
    code: _code,
    thorough: _thorough,
    remoteAddress: _remoteAddress,
    ...options
  } = question
  const receiver = createReceiver({
    ...options,
    // Bytes, because a receiver rejects text with white space around it.
    signatureKey: keys,
    unsigned: 'reject', // a receiver that accepts unsigned requests would emit a process warning
    duplicates: undefined,
    inbox: undefined,
    observer: { refused() {}, failed() {} }, // keeps the receiver from logging
  } as never).on('*', () => {}) // without a handler, it would warn about each change type
  let usedLimit = 0
  const { kind, error } = await receiver.receive({
    method,
    url,
    headers: Object.fromEntries(headers),
    params,
    read({ limit, onChunk }) {
      if (body.length > limit) throw new WebhookError('body_too_large')
      onChunk(body)
      return body
    },
    cancel(limit) {
      usedLimit = limit
    },
  })
  return { refusal: error, isHandshake: kind === 'handshake', limit: usedLimit }
}
