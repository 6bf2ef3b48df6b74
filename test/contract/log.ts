import type { Delivery, Observer, WebhookError } from 'geohook'

/** A delivery as a handler saw it, in a form that JSON keeps. */
export interface SeenDelivery
  extends Pick<Delivery, 'id' | 'changeTypes' | 'contentType' | 'headers' | 'payload' | 'profile'> {
  keyIndex: number | null
  /** The exact bytes, in hex. */
  rawBody: string
}

/** What became of one request or delivery, in a form that JSON keeps. */
export interface Entry {
  /** What the observer was told, with its code: `refused signature_missing`. */
  line?: string
  /** The bytes of a refused body, in hex. */
  body?: string
  /** The errors behind a failure. */
  causes?: string[]
  /** What a handler (or the inbox) was given. */
  delivery?: SeenDelivery
}

/** The record of one receiver. It runs wherever the receiver runs, so it uses nothing of Node. */
export interface Log {
  readonly entries: readonly Entry[]
  readonly deliveries: readonly SeenDelivery[]
  readonly observer: Observer
  add(entry: Entry): void
  /** Resolves when the next entry is there. */
  changed(): Promise<void>
  /** Lets handlers that wait go on. */
  release(): void
  released(): Promise<void>
}

const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

export function toSeenDelivery({ rawBody, keyIndex, ...delivery }: Delivery): SeenDelivery {
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
  const wake: (() => void)[] = []

  function add(entry: Entry): void {
    entries.push(entry)
    for (const one of wake.splice(0)) one()
  }

  const tell = (name: keyof Observer) => (seen: object) => {
    const { error, body } = seen as { error?: WebhookError; body?: Uint8Array }
    const { errors } = (error?.cause ?? {}) as { errors?: unknown[] }
    add({
      line: error ? `${name} ${error.code}` : name,
      ...(body ? { body: toHex(body) } : {}),
      ...(errors ? { causes: errors.map(String) } : {}),
    })
  }

  return {
    entries,
    get deliveries() {
      return entries.flatMap(({ delivery }) => delivery ?? [])
    },
    observer: {
      accepted: tell('accepted'),
      refused: tell('refused'),
      duplicate: tell('duplicate'),
      handled: tell('handled'),
      failed: tell('failed'),
    },
    add,
    changed: () => new Promise((resolve) => wake.push(resolve)),
    release() {
      isReleased = true
    },
    async released() {
      // Asked again and again: in a worker, a promise of one request must not be resolved by another.
      while (!isReleased) await new Promise((resolve) => setTimeout(resolve, 2))
    },
  }
}
