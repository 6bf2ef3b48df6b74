import { arcgis, createReceiver, type Receiver, type ReceiverOptions } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { createLog, type Log, toLoggedDelivery } from './log.ts'

/** Signature key of every receiver in the contract. */
export const signatureKey = 'parcels2026'
/** The fixed time of the clock in the setup `fresh`. */
export const NOW = Date.UTC(2026, 0, 1)

interface Setup {
  options?: Partial<ReceiverOptions>
  /** Handles each event. To keep a delivery in flight, return the promise of `log.released()`. */
  handle?(log: Log): unknown
}

const broken = (): never => {
  throw new Error('secret \u00e9 detail')
}

const schema: NonNullable<ReceiverOptions['schema']> = {
  '~standard': {
    version: 1,
    vendor: 'contract',
    validate: (value) =>
      typeof (value as { a?: unknown }).a === 'number' ? { value } : { issues: [{ message: 'a is secret' }] },
  },
}

/** The receivers that the cases need, by name. To start one in another process, a test sends its name. */
const SETUPS = {
  plain: () => ({}),
  limited: () => ({ options: { limit: 1000 } }),
  impatient: () => ({ options: { bodyTimeout: 50 } }),
  handshake: () => ({ options: { profile: arcgis } }),
  otherHeader: () => ({ options: { signatureHeader: 'X-Esrihook-Signature' } }),
  noKey: () => ({ options: { signatureKey: () => null } }),
  zeroKey: () => ({ options: { signatureKey: () => new Uint8Array(32) } }),
  manyKeys: () => ({ options: { signatureKey: () => new Array(101).fill(signatureKey) } }),
  handshakeWithoutKey: () => ({ options: { profile: arcgis, signatureKey: () => null } }),
  noKeys: () => ({ options: { signatureKey: async () => broken() } }),
  loggedKey: (log) => ({
    options: {
      signatureKey: () => {
        log.add({ line: 'key lookup' })
        return signatureKey
      },
    },
  }),
  tenants: () => ({
    options: {
      signatureKey: async ({ method, url, headers }) =>
        method === 'POST' && url.endsWith('/hook?tenant=b') && headers['x-tenant'] === 'b'
          ? ['new-b', 'key-b']
          : undefined,
    },
  }),
  failing: () => ({ handle: broken }),
  crowded: () => ({ options: { limit: 100, maxInFlightBytes: 100 }, handle: (log) => log.released() }),
  waiting: () => ({ handle: (log) => log.released() }),
  once: () => ({ options: { duplicates: createMemoryDuplicates() } }),
  onceWaiting: () => ({ options: { duplicates: createMemoryDuplicates() }, handle: (log) => log.released() }),
  onceFailing: (log) => ({
    options: { duplicates: createMemoryDuplicates() },
    handle: () => log.deliveries.length === 1 && broken(),
  }),
  noStore: () => ({ options: { duplicates: { ...createMemoryDuplicates(), claim: async () => broken() } } }),
  inbox: (log) => ({
    options: { inbox: { put: async (delivery) => log.add({ delivery: toLoggedDelivery(delivery) }) } },
  }),
  fullInbox: () => ({ options: { inbox: { put: async () => broken() } } }),
  fresh: () => ({ options: { maxAge: 60_000, clock: () => NOW } }),
  schema: () => ({ options: { schema } }),
  unsigned: () => ({ options: { unsigned: 'accept' } }),
} satisfies Record<string, (log: Log) => Setup>

export type SetupName = keyof typeof SETUPS

/** Creates the receiver of a setup and its log. */
export function createSubject(name: SetupName): { receiver: Receiver; log: Log } {
  const log = createLog()
  const { options, handle }: Setup = SETUPS[name](log)
  const receiver = createReceiver({ signatureKey, observer: log.observer, ...options })
  receiver.on('*', async (_event, delivery) => {
    log.add({ delivery: toLoggedDelivery(delivery) })
    await handle?.(log)
  })
  return { receiver, log }
}
