import type { Delivery, Observer, WebhookError } from 'geohook'

/** A delivery that a handler received, in a form that survives serialization as JSON. */
export interface LoggedDelivery
  extends Pick<Delivery, 'id' | 'changeTypes' | 'contentType' | 'headers' | 'payload' | 'profile'> {
  keyIndex: number | null
  /** The exact bytes of the body, in hex. */
  rawBody: string
}

/** One observer call or delivery, in a form that survives serialization as JSON. */
export interface Entry {
  /** An observer call and its error code, for example `refused signature_missing`. */
  line?: string
  /** The bytes of a refused body, in hex. */
  body?: string
  /** The error of the handler that failed. */
  cause?: string
  /** A delivery that a handler or the inbox received. */
  delivery?: LoggedDelivery
}

/** The log of one receiver. It uses no Node modules, because it runs on every runtime. */
export interface Log {
  readonly entries: readonly Entry[]
  readonly deliveries: readonly LoggedDelivery[]
  readonly observer: Observer
  add(entry: Entry): void
  /** Resolves when the next entry is added. */
  changed(): Promise<void>
  /** Lets waiting handlers continue. */
  release(): void
  released(): Promise<void>
}

const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

export function toLoggedDelivery({ rawBody, keyIndex, ...delivery }: Delivery): LoggedDelivery {
  const { id, changeTypes, contentType, headers, payload, profile } = delivery
  return {
    id,
    changeTypes,
    contentType,
    headers,
    payload,
    profile,
    keyIndex: keyIndex ?? null,
    rawBody: toHex(rawBody),
  }
}

export function createLog(): Log {
  const entries: Entry[] = []
  let isReleased = false
  const waiting: (() => void)[] = []

  function add(entry: Entry): void {
    entries.push(entry)
    for (const resolve of waiting.splice(0)) resolve()
  }

  const record = (name: keyof Observer) => (call: object) => {
    const { error, body } = call as { error?: WebhookError; body?: Uint8Array }
    const hasCause = error?.code === 'handler_failed'
    add({
      line: error ? `${name} ${error.code}` : name,
      ...(body ? { body: toHex(body) } : {}),
      ...(hasCause ? { cause: String(error?.cause) } : {}),
    })
  }

  return {
    entries,
    get deliveries() {
      return entries.flatMap(({ delivery }) => delivery ?? [])
    },
    observer: {
      accepted: record('accepted'),
      refused: record('refused'),
      duplicate: record('duplicate'),
      handled: record('handled'),
      unhandled: record('unhandled'),
      failed: record('failed'),
    },
    add,
    changed: () => new Promise((resolve) => waiting.push(resolve)),
    release() {
      isReleased = true
    },
    async released() {
      // Polls, because in a Cloudflare Worker one request must not resolve a promise of another request.
      while (!isReleased) await new Promise((resolve) => setTimeout(resolve, 2))
    },
  }
}
