import { EventEmitter, once } from 'node:events'
import type { Delivery, ErrorCode, Observer, Outcome, WebhookError } from 'geohook'

interface ObserverCall {
  name: keyof Observer
  code?: ErrorCode
  error?: WebhookError
  delivery?: Delivery
  body?: Uint8Array
  outcome?: Outcome
  milliseconds?: number
}

/** An observer that records its calls. */
export interface Recorder {
  observer: Observer
  calls: ObserverCall[]
  /** Names and error codes of the calls so far, for example `['refused signature_missing']`. */
  readonly lines: string[]
  /** Resolves when the observer has recorded this line. */
  waitFor(line: string): Promise<void>
}

export function createRecorder(): Recorder {
  const calls: ObserverCall[] = []
  const emitter = new EventEmitter()
  const lineOf = ({ name, code }: ObserverCall): string => (code ? `${name} ${code}` : name)
  const lines = (): string[] => calls.map(lineOf)
  const record = (name: keyof Observer) => (call: object) => {
    const { error } = call as { error?: WebhookError }
    calls.push({ name, ...call, ...(error ? { code: error.code } : {}) })
    emitter.emit('recorded')
  }
  return {
    observer: {
      accepted: record('accepted'),
      refused: record('refused'),
      duplicate: record('duplicate'),
      handled: record('handled'),
      unhandled: record('unhandled'),
      failed: record('failed'),
      handshake: record('handshake'),
    },
    calls,
    get lines() {
      return lines()
    },
    async waitFor(line) {
      while (!lines().includes(line)) await once(emitter, 'recorded')
    },
  }
}
