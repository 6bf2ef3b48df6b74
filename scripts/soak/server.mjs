// The process whose memory is measured: `node --expose-gc --import ./timers.mjs server.mjs <path of the inbox> <leak to
// plant>`. Each message names one of the tasks; the reply is its result.

import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { createSqliteInbox } from 'geohook/sqlite'
import { collect } from '../../bench/memory/resident.mjs'
import { MOUNTS } from '../../test/helpers/mounts.ts'
import { BODY_TIMEOUT, KEY, LIMIT } from './settings.mjs'
import { countIdleTimers, countTimers } from './timers.mjs'

const [path, leak] = process.argv.slice(2)
const onRefused = plantLeak(leak)

let handled = []
let receivers
let timers = 0
const onHandled = (id) => handled.push(id)

function takeHandled() {
  const ids = handled
  handled = []
  return ids
}

const tasks = {
  /** @returns the targets (name, URL, and how the host and the receiver treat deliveries), and failures of the inbox */
  async open({ generation }) {
    receivers = await startReceivers({ path, generation, onHandled, leak: onRefused })
    const troubles = await receivers.drain()
    timers = await countIdleTimers()
    return { targets: receivers.targets, troubles }
  },
  /** Waits until all deliveries are handled. @returns their ids, and failures of the inbox */
  async drain() {
    const troubles = await receivers.drain()
    return { handled: takeHandled(), troubles }
  },
  sample: () => takeSample(timers),
  /** @returns the ids of the deliveries that were handled since the last `drain`, and failures of the inbox */
  async close() {
    const troubles = await receivers.close()
    receivers = undefined
    timers = 0
    return { handled: takeHandled(), troubles }
  },
}

process.on('message', async ({ task, ...options }) => process.send(await tasks[task](options)))
process.on('disconnect', () => process.exit())
process.send('ready')

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
      unhandled: ({ delivery }) => troubles.push(`unhandled delivery ${delivery.id}`),
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
async function startReceivers({ path, generation, onHandled, leak }) {
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

/** Milliseconds after which deliveries that are still pending are a fault. */
const TIMEOUT = 60_000

/**
 * Returns a function that resolves as soon as all deliveries are handled. After the timeout, it reports the deliveries
 * that are left. Later calls do not wait for these, so that the run ends in spite of the fault.
 *
 * @param {{ stats(): Promise<{ waiting: number, active: number }> }} inbox
 * @param {string[]} troubles failures of the inbox, which the function takes from here
 * @returns {() => Promise<string[]>} the troubles so far
 */
function createDrain(inbox, troubles, timeout = TIMEOUT) {
  let stuck = 0
  return async () => {
    const until = performance.now() + timeout
    for (;;) {
      const { waiting, active } = await inbox.stats()
      if (waiting + active <= stuck) break
      if (performance.now() > until) {
        stuck = waiting + active
        troubles.push(
          `inbox: ${waiting} deliveries waiting and ${active} active after ${timeout / 1_000} seconds`,
        )
        break
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return troubles.splice(0)
  }
}

/** Bytes of a string's header, and of its slot in an array. */
const OVERHEAD = 16 + 8
const DAY = 86_400_000

/**
 * Plants a leak, so that a run can show that it would find it.
 *
 * @param {string} leak bytes of the heap to keep for each request, at least 32; `timer` to keep a timer for each
 *   stalled upload to the first adapter; or `0` for no leak
 * @returns {((refusal: { error: Error }) => void) | undefined} the function of the first adapter's observer
 */
function plantLeak(leak) {
  if (leak === 'timer') {
    return ({ error }) => {
      if (error.code === 'body_timeout') setTimeout(() => {}, DAY)
    }
  }
  const kept = []
  if (leak !== '0') {
    subscribe('http.server.request.start', () => {
      kept.push(randomBytes(leak - OVERHEAD).toString('latin1'))
    })
  }
}

const FILES = '/proc/self/fd'
/** Milliseconds until a sample is taken although the process is not idle. Longer than any timer of a rejected upload. */
const MAX_WAIT = 10_000

/** Number of resources that keep the process alive, by type, for example `TCPSocketWrap`. */
function countResources() {
  const counts = {}
  for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

/**
 * Measures this process after a garbage collection. First waits until it is idle: no connection is open, and there are
 * no more timers than at the beginning. A leaked connection or timer only delays the sample.
 *
 * @param {number} timers number of pending timers of the idle process
 */
async function takeSample(timers) {
  const until = performance.now() + MAX_WAIT
  while ((countResources().TCPSocketWrap ?? 0) > 0 || countTimers() > timers) {
    if (performance.now() > until) break
    await wait(5)
  }
  await wait(20) // lets the callbacks of closed connections run
  collect()
  await wait(1) // lets finalizers run
  collect()
  const { heapUsed, external } = process.memoryUsage()
  const { TCPSocketWrap: sockets = 0, ...handles } = countResources()
  delete handles.Timeout // counted by `countTimers`, with those of `wait`
  return {
    heap: heapUsed + external,
    sockets,
    handles: Object.values(handles).reduce((sum, count) => sum + count, 0),
    timers: countTimers(),
    ...(existsSync(FILES) ? { files: readdirSync(FILES).length } : {}),
    resources: { sockets, ...handles },
  }
}
