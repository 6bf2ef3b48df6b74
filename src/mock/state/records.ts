import type { RawRequest } from '../../testing/signer.ts'
import type { FaultName } from '../faults/faults.ts'
import { type Service, servicePath } from './services.ts'

/** One attempt to send a delivery. */
export interface Attempt {
  id: string
  /** Id shared by all attempts of one delivery. */
  deliveryId: string
  webhookId: string
  /** Number of the attempt within its delivery, from 1. */
  number: number
  hookUrl: string
  /** Milliseconds since 1970. */
  sentAt: number
  /** The request as sent, with `host` and `content-length`. */
  request: RawRequest
  /** Number of body bytes sent; present only for a connection fault. */
  bytesSent?: number
  /** The receiver's response; absent if the attempt failed without one. */
  answer?: Answer
  /** Reason why the attempt has no response. */
  error?: string
  /** Duration in milliseconds; absent while the attempt is in flight. */
  milliseconds?: number
  /** The injected fault, if any. */
  fault?: FaultName
}

/** A receiver's response. */
export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The first 64 KiB, as text. */
  readonly body: string
}

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Failed deliveries of one webhook, as in a snapshot: deliveries whose attempts have all failed. */
export interface FailureRecord {
  webhookId: string
  /** Time of each failure in milliseconds since 1970, oldest first. */
  times: number[]
}

/** Result of the last handshake of a webhook, as in a snapshot. */
export interface HandshakeRecord {
  webhookId: string
  /** When the handshake ended, in milliseconds since 1970. */
  when: number
  /** Why it failed. Absent if it succeeded. */
  reason?: string | undefined
  /** Number of events not sent since the handshake failed. Absent if it is 0. */
  notSent?: number | undefined
}

/** The current generation of each service. It starts as the time of the first use, and each change adds 1. */
export class Generations {
  readonly #byPath = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  current(service: Readonly<Service>): number {
    return this.#byPath.get(servicePath(service)) ?? this.#set(service, this.#now())
  }

  /** @returns the generation before the changes */
  advance(service: Readonly<Service>, changes: number): number {
    const before = this.current(service)
    this.#set(service, before + changes)
    return before
  }

  /** Raises the generation of a service; a lower number changes nothing. @returns the current generation */
  raise(service: Readonly<Service>, generation: number): number {
    return this.#set(service, Math.max(generation, this.#byPath.get(servicePath(service)) ?? generation))
  }

  /** Forgets the generation of a service, so that the next use starts again. */
  forget(service: Readonly<Service>): void {
    this.#byPath.delete(servicePath(service))
  }

  #set(service: Readonly<Service>, generation: number): number {
    this.#byPath.set(servicePath(service), generation)
    return generation
  }
}
