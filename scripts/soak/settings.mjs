/** The signature key of all deliveries. */
export const KEY = 'parcels2026'
/** Maximum body size in bytes. */
export const LIMIT = 65_536
/** Milliseconds after which a receiver ends a stalled upload. Longer than a busy machine pauses a process. */
export const BODY_TIMEOUT = 2_000
