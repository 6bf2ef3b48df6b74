import { WebhookError } from '../errors.ts'
import type { KeyFunction, Question } from './question.ts'
import type { Head, Refusal } from './request.ts'

/** The part of `createReceiver` that is used here. It is passed in, so that this bundle does not contain a copy of it. */
export type CreateReceiver = (options: never) => { on(changeType: '*', handler: () => void): ReceiverPart }

interface ReceiverPart {
  receive(request: {
    method: string
    url: string
    headers: Record<string, string>
    params?: Question['params']
    remoteAddress?: string | undefined
    read(options: { limit: number; onChunk(chunk: Uint8Array): void }): Uint8Array
    cancel(limit: number): void
  }): Promise<{ kind: string; error?: Refusal }>
}

/** What a receiver does with the request. */
export interface Answer {
  /** The error with which the receiver refuses the request. */
  refusal?: Refusal | undefined
  isHandshake: boolean
  /** The request as a key function gets it. */
  head: Head
  /** The receiver's maximum body size in bytes. 0 if it has not refused the request. */
  limit: number
}

/** Passes a request to a receiver with the same options and this key, but without handlers and stores. */
export async function askReceiver(
  createReceiver: CreateReceiver,
  question: Question & { body: Uint8Array },
  signatureKey: readonly Uint8Array[] | KeyFunction,
  headers: ReadonlyMap<string, string>,
): Promise<Answer> {
  const {
    body,
    headers: _headers,
    signatureKey: _signatureKey,
    method = 'POST',
    url = '/',
    params,
    code: _code,
    thorough: _thorough,
    remoteAddress,
    ...options
  } = question
  let head: Head = { method, url, headers: Object.fromEntries(headers), params, remoteAddress }
  const receiver = createReceiver({
    ...options,
    signatureKey,
    unsigned: 'reject', // a receiver that accepts unsigned requests would emit a process warning
    duplicates: undefined,
    inbox: undefined,
    observer: {
      around(request: Head, run: () => Promise<unknown>) {
        head = request
        return run()
      },
      // These functions keep the receiver from logging.
      refused() {},
      failed() {},
    },
  } as never).on('*', () => {}) // without a handler, it would warn about each change type
  let usedLimit = 0
  const { kind, error } = await receiver.receive({
    method,
    url,
    headers: Object.fromEntries(headers),
    params,
    remoteAddress,
    read({ limit, onChunk }) {
      if (body.length > limit) throw new WebhookError('body_too_large')
      onChunk(body)
      return body
    },
    cancel(limit) {
      usedLimit = limit
    },
  })
  return { refusal: error, isHandshake: kind === 'handshake', head, limit: usedLimit }
}
