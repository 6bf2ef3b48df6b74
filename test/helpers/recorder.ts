import { EventEmitter, once } from 'node:events'
import type { Delivery, ErrorCode, Observer, Outcome, WebhookError } from 'geohook'

interface Seen {
  name: keyof Observer
  code?: ErrorCode
  error?: WebhookError
  delivery?: Delivery
  body?: Uint8Array
  outcome?: Outcome
  milliseconds?: number
}

/** An observer that keeps what it is told. */
export interface Recorder {
  observer: Observer
  seen: Seen[]
  /** The names and codes so far, for example `['refused signature_missing']`. */
  readonly lines: string[]
  /** Resolves when the observer has been told this. */
  told(line: string): Promise<void>
}

export function createRecorder(): Recorder {
  const seen: Seen[] = []
  const emitter = new EventEmitter()
  const lineOf = ({ name, code }: Seen): string => (code ? `${name} ${code}` : name)
  const record = (name: keyof Observer) => (told: object) => {
    const { error } = told as { error?: WebhookError }
    seen.push({ name, ...told, ...(error ? { code: error.code } : {}) })
    emitter.emit('told')
  }
  return {
    observer: {
      accepted: record('accepted'),
      refused: record('refused'),
      duplicate: record('duplicate'),
      handled: record('handled'),
      failed: record('failed'),
      handshake: record('handshake'),
    },
    seen,
    get lines() {
      return seen.map(lineOf)
    },
    async told(line) {
      while (!seen.some((one) => lineOf(one) === line)) await once(emitter, 'told')
    },
  }
}
