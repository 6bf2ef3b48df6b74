import { toPairs } from '../../shared/redact.ts'
import type { Recorded } from './recorded.ts'

/** A larger body is not recorded, in bytes. */
const MAX_BODY = 8 * 1024 * 1024

type Listener = (ids?: readonly string[]) => void

/** The recorded requests, within bounds. */
export interface RequestStore {
  readonly size: number
  /** Adds a request, and drops the oldest ones if there are too many. */
  add(facts: Omit<Recorded, 'id' | 'bytes'>): void
  get(id: string): Recorded | undefined
  /** All requests, newest first. */
  newestFirst(): Recorded[]
  clear(): void
  on(listener: Listener): () => void
}

export function createRequestStore({
  maxRequests,
  maxBytes,
}: {
  maxRequests: number
  maxBytes: number
}): RequestStore {
  // Part of each id, so that an address from before a restart does not show another request.
  const run = crypto.randomUUID().slice(0, 6)
  /** In order of arrival. */
  const requests = new Map<string, Recorded>()
  const listeners = new Set<Listener>()
  let count = 0
  let bytes = 0

  function drop(recorded: Recorded): void {
    requests.delete(recorded.id)
    bytes -= recorded.bytes
  }

  function notify(ids: readonly string[]): void {
    for (const listener of listeners) listener(ids)
  }

  return {
    get size() {
      return requests.size
    },
    add(facts) {
      const id = `${++count}-${run}`
      const body = (facts.size ?? 0) > Math.min(MAX_BODY, maxBytes) ? undefined : facts.body
      const recorded = { ...facts, id, body, bytes: (body?.length ?? 0) + sizeOfHead(facts) }
      requests.set(id, recorded)
      bytes += recorded.bytes
      const changed = [id]
      for (const oldest of requests.values()) {
        if (requests.size === 1 || (requests.size <= maxRequests && bytes <= maxBytes)) break
        drop(oldest)
        changed.push(oldest.id)
      }
      notify(changed)
    },
    get: (id) => requests.get(id),
    newestFirst: () => [...requests.values()].reverse(),
    clear() {
      const ids = [...requests.keys()]
      requests.clear()
      bytes = 0
      notify(ids)
    },
    on(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Characters of the URL and the headers. */
const sizeOfHead = ({ request: { url, headers } }: Pick<Recorded, 'request'>): number =>
  toPairs(headers).reduce((size, [name, value]) => size + name.length + value.length, url.length)
