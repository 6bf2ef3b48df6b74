import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { MOUNTS } from '../../../test/helpers/mounts.ts'
import { BODY_TIMEOUT, KEY, LIMIT } from '../settings.mjs'
import { createDrain } from './drain.mjs'

/** The classes that Hono's server replaces. h3 responds to errors with 200 if they are not its own. */
const CLASSES = { Request, Response }

/** Prevents a process warning for each refusal. */
const OBSERVER = { refused() {}, failed() {}, unhandled() {} }

/** Options of all receivers. */
const COMMON = {
  signatureKey: KEY,
  limit: LIMIT,
  bodyTimeout: BODY_TIMEOUT,
  observer: OBSERVER,
}

// These are separate functions, because Google's framework keeps the last receiver, and with it all that its callbacks
// can reach.
function createHandler(onHandled) {
  return ({ raw }, { headers }, { attempt }) => {
    const { id, failsOnce } = raw.soak
    const isFirst = attempt === 1 && headers['x-attempt'] !== '2'
    if (failsOnce && isFirst) throw new Error('the first attempt fails')
    onHandled(id)
  }
}

function createInbox(path, troubles) {
  return createSqliteInbox({
    path,
    retryDelay: 20,
    retention: 60_000,
    observer: {
      failed() {},
      dead: ({ delivery, error }) => troubles.push(`dead letter ${delivery.id}: ${error}`),
      trouble: ({ error }) => troubles.push(`inbox: ${error}`),
    },
  })
}

/**
 * Starts all adapters, each with its own receiver. They take turns with each generation: half of the receivers store
 * deliveries in an inbox, and the others call their handlers before they respond.
 *
 * @param {{ path: string, generation: number, onHandled: (id: string) => void,
 *   leak?: (refusal: { error: Error }) => void }} options `path` of the inbox; `leak`: called for each refusal of the
 *   first adapter
 */
export async function startReceivers({ path, generation, onHandled, leak }) {
  const troubles = []
  const inbox = createInbox(path, troubles)
  const duplicates = createMemoryDuplicates({ maxEntries: 200 })
  const handle = createHandler(onHandled)
  const create = (options) => createReceiver({ ...COMMON, ...options }).on('*', handle)

  const worker = create({ inbox })
  inbox.work(worker)
  const started = []
  for (const [index, [name, { mount }]] of Object.entries(MOUNTS).entries()) {
    const hasInbox = (index + generation) % 2 === 0
    const observer = index === 0 && leak ? { ...OBSERVER, refused: leak } : OBSERVER
    const receiver = create({ observer, ...(hasInbox ? { inbox } : { duplicates }) })
    const mounted = await mount(receiver)
    for (const [global, value] of Object.entries(CLASSES)) {
      Object.defineProperty(globalThis, global, { value, writable: true, configurable: true })
    }
    started.push({ name, hasInbox, receiver, mounted })
  }

  return {
    targets: started.map(({ name, hasInbox, mounted: { url, host = {} } }) => ({
      name,
      hasInbox,
      url,
      host,
    })),
    /** Waits until the inbox has no pending delivery. @returns {Promise<string[]>} failures of the inbox so far */
    drain: createDrain(inbox, troubles),
    /** Closes everything. Deliveries may remain in the inbox. @returns {Promise<string[]>} failures of the inbox */
    async close() {
      await Promise.all(
        [worker, ...started.map(({ receiver }) => receiver)].map((receiver) => receiver.close()),
      )
      for (const { mounted } of started) await mounted.close()
      await inbox.close()
      await duplicates.close()
      return troubles.splice(0)
    },
  }
}
