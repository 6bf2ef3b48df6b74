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

/** Records the last handshake of each webhook. */
export interface HandshakeLog {
  /** Returns undefined if the webhook had no handshake, or must repeat it. */
  of(webhookId: string): Readonly<HandshakeRecord> | undefined
  put(record: HandshakeRecord): void
  /** Forgets the handshake of a webhook, for example after its URL was edited. */
  clear(webhookId: string): void
  all(): HandshakeRecord[]
  restore(records: readonly HandshakeRecord[]): void
}

export function createHandshakeLog(): HandshakeLog {
  const records = new Map<string, HandshakeRecord>()
  return {
    of: (webhookId) => records.get(webhookId),
    put: (record) => void records.set(record.webhookId, record),
    clear: (webhookId) => void records.delete(webhookId),
    all: () => [...records.values()].map((record) => ({ ...record })),
    restore(restored) {
      records.clear()
      for (const record of restored) records.set(record.webhookId, { ...record })
    },
  }
}
