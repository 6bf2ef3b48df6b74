import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { start } from '../../bench/child.mjs'
import { seeded } from '../random.mjs'
import { createClient } from './client.mjs'
import { CONNECTIONS, HONEST, REFUSED, stall, UPLOADS } from './scenes.mjs'

/** Parts of the run's time at which its phases end. */
const PHASES = { firstProcess: 0.1, warmUp: 0.3, generations: 0.93, restarts: 1 }
/** Minutes from which on blocks are larger. The slope of each adapter is then more exact. */
const LONG = 10
/** Maximum milliseconds for which receivers stay open. */
const MAX_GENERATION = 120_000
const MAX_WARM_UP = 180_000
/** Number of blocks after which the process is warm, if there is no time for more. */
const MIN_WARM_UP = 6
/** Number of samples from which on an interval is narrow enough. On a slow machine, the run takes longer for them. */
const MIN_SAMPLES = 20
/** Number of samples of each generation after the first. */
const MIN_LATER_SAMPLES = 3
const MIN_RESTARTS = 9
const MAX_RESTARTS = 40
/** Number of requests before each of these restarts. */
const RESTART_REQUESTS = 60

/**
 * Runs traffic against a server process, and takes samples of its resources. A generation is the time between opening
 * and closing the receivers and the inbox.
 *
 * @param {{ minutes: number, seed: number, leak: string }} options
 */
export async function runSoak({ minutes, ...options }) {
  const started = performance.now()
  const now = () => performance.now() - started
  const endOf = (phase) => PHASES[phase] * minutes * 60_000
  const driver = await createDriver({ ...options, blockSize: minutes < LONG ? 400 : 1_200 })

  /** Takes samples until a time, and at least some. */
  async function takeSamples(until, minimum) {
    const samples = []
    while (samples.length < minimum || now() < until) samples.push(await driver.measure())
    return samples
  }

  /** This process leaves deliveries in the inbox. The next one must handle them. */
  async function runFirstProcess() {
    await driver.startProcess()
    await driver.open()
    do await driver.send()
    while (now() < endOf('firstProcess'))
    await driver.close()
  }

  async function warmUp() {
    await driver.startProcess()
    await driver.open()
    await driver.settle()
    await takeSamples(Math.min(endOf('warmUp'), now() + MAX_WARM_UP), MIN_WARM_UP)
    await driver.close()
  }

  async function measureGenerations() {
    const generations = []
    const beginning = now()
    const time = Math.max(0, endOf('generations') - beginning)
    const count = Math.max(1, Math.ceil(time / MAX_GENERATION))
    for (let index = 1; index <= count; index++) {
      await driver.open()
      const minimum = index === 1 ? MIN_SAMPLES : MIN_LATER_SAMPLES
      generations.push(await takeSamples(beginning + (time * index) / count, minimum))
      await driver.close()
    }
    return generations
  }

  async function measureRestarts() {
    const restarts = []
    while (restarts.length < MIN_RESTARTS || (restarts.length < MAX_RESTARTS && now() < endOf('restarts'))) {
      await driver.open()
      await driver.send(RESTART_REQUESTS)
      await driver.settle()
      restarts.push(await driver.close())
    }
    return restarts
  }

  try {
    await runFirstProcess()
    await warmUp()
    const generations = await measureGenerations()
    const restarts = await measureRestarts()
    driver.compare() // finds deliveries that were handled again during the last close
    const { adapters, requests, deliveries, faults } = driver
    return { minutes: now() / 60_000, adapters, requests, deliveries, faults, generations, restarts }
  } finally {
    await driver.end()
  }
}

/** Every so many blocks, each adapter gets one upload of each kind. One of them stalls until the receiver's timeout. */
const UPLOADS_INTERVAL = 3
/** Milliseconds after which a task of the server fails the run. Longer than all deadlines within a task. */
const MAX_TASK = 180_000

/**
 * @typedef {object} Sent
 * @property {readonly number[]} counts number of requests to each adapter
 * @property {number} requests their sum
 */

/**
 * Controls the server process, sends traffic to it, and records everything that is wrong.
 *
 * @param {{ seed: number, leak: string, blockSize: number }} options `leak`: see `plantLeak`; `blockSize`: minimum
 *   number of requests between two samples
 */
async function createDriver({ seed, leak, blockSize }) {
  const random = seeded(seed)
  const ledger = createLedger()
  const faults = new Map()
  const onFault = (fault) => faults.set(fault, (faults.get(fault) ?? 0) + 1)
  const bundle = await bundleServer()
  const folder = await mkdtemp(join(tmpdir(), 'geohook-soak-'))
  let ids = 0
  let blocks = 0
  let requests = 0
  let generation = 0
  let server
  let targets = []

  async function ask(task, options) {
    const expired = wait(MAX_TASK, undefined, { ref: false }).then(() => {
      throw new Error(`the server has not finished the task '${task}' after ${MAX_TASK / 1_000} seconds`)
    })
    const {
      handled = [],
      troubles = [],
      ...result
    } = await Promise.race([server.ask({ task, ...options }), expired])
    ledger.handle(handled)
    for (const fault of troubles) onFault(fault)
    return result
  }

  const driver = {
    faults,
    get adapters() {
      return targets.map(({ name }) => name)
    },
    /** Number of requests so far. */
    get requests() {
      return requests
    },
    /** Number of deliveries that were acknowledged and handled. */
    get deliveries() {
      return ledger.count
    },

    /** Starts a new process in place of the previous one. */
    async startProcess() {
      await server?.close()
      server = await bundle.start(join(folder, 'inbox.db'), leak)
    },

    /** Starts all receivers, and opens the inbox. */
    async open() {
      targets = (await ask('open', { generation: generation++ })).targets
    },

    /** Closes receivers and inbox, also if deliveries are pending. @returns a sample while everything is closed */
    async close() {
      await ask('close')
      return ask('sample')
    },

    /** Sends one block of requests. @returns {Promise<Sent>} */
    async send(size = blockSize) {
      const withUploads = blocks++ % UPLOADS_INTERVAL === 0
      const focus = Math.floor(random() * targets.length)
      const nextId = () => `${seed}-${ids++}`
      const counts = await sendBlock(targets, { focus, size, withUploads, random, ledger, onFault, nextId })
      const sent = { counts, requests: counts.reduce((sum, count) => sum + count, 0) }
      requests += sent.requests
      return sent
    },

    /** Compares the deliveries that were acknowledged with those that were handled. Call it while none is pending. */
    compare() {
      for (const fault of ledger.settle()) onFault(fault)
    },

    /** Waits until all deliveries are handled, and compares. */
    async settle() {
      await ask('drain')
      driver.compare()
    },

    /** Sends one block, and takes a sample when everything is handled. */
    async measure() {
      const sent = await driver.send()
      await driver.settle()
      return { ...sent, ...(await ask('sample')) }
    },

    async end() {
      await server?.close()
      await bundle.remove()
      await rm(folder, { recursive: true })
    },
  }
  return driver
}

process.env.NODE_ENV = 'test' // otherwise Express prints an error for each upload that is cut off

/**
 * V8 must not compile functions one after another, nor discard their bytecode: the size of the code would grow or
 * change for minutes. With these flags, it grows no more after about 2,000 requests.
 */
const FLAGS = [
  '--expose-gc',
  '--no-warnings',
  '--no-opt',
  '--no-sparkplug',
  '--no-lazy-feedback-allocation',
  '--no-flush-bytecode',
]

const root = fileURLToPath(new URL('../..', import.meta.url))
const timers = new URL('timers.mjs', import.meta.url)

/**
 * Bundles the server, so that the process to measure needs no loader for TypeScript. The bundle imports the built
 * package. It is in this repository, because its imports are resolved from there.
 */
async function bundleServer() {
  const folder = await mkdtemp(join(root, '.soak-'))
  const path = join(folder, 'server.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('server.mjs', import.meta.url))],
    outfile: path,
    bundle: true,
    packages: 'external',
    // Not bundled, so that the bundle shares the module that `--import` has loaded.
    external: [fileURLToPath(timers)],
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
  return {
    start: (inbox, leak) =>
      start(path, { args: [inbox, leak], execArgv: ['--import', timers.href, ...FLAGS] }),
    remove: () => rm(folder, { recursive: true }),
  }
}

/** Number of scenes at a time. */
const CONCURRENCY = 24
/** Share of a block's scenes that one adapter gets. With a large share, its effect on memory is visible. */
const FOCUS = 0.8

const repeat = (scenes, times) => Object.values(scenes).flatMap((scene) => Array(times).fill(scene))
const SCENES = [
  ...repeat({ JSON: HONEST.JSON }, 12),
  ...repeat(HONEST, 2),
  ...repeat(REFUSED, 1),
  ...repeat(UPLOADS, 1),
  ...repeat(CONNECTIONS, 2),
]

const pick = (list, random) => list[Math.floor(random() * list.length)]

/**
 * Sends the requests of one block, and closes all connections.
 *
 * @param {readonly object[]} targets
 * @param {{ focus: number, size: number, withUploads: boolean, random: () => number, ledger: object,
 *   onFault: (fault: string) => void, nextId: () => string }} block `focus`: index of the target that gets most
 *   requests; `size`: minimum number of requests; `withUploads`: true if each target also gets one upload of each kind,
 *   and one that stalls
 * @returns {Promise<number[]>} the number of requests of each target
 */
async function sendBlock(targets, { focus, size, withUploads, random, ...run }) {
  const clients = targets.map((target) => createClient(target, run))
  const sent = () => clients.reduce((sum, { requests }) => sum + requests, 0)
  const pickClient = () => (random() < FOCUS ? clients[focus] : pick(clients, random))

  const uploads = withUploads
    ? clients.flatMap((client) => Object.values(UPLOADS).map((upload) => () => upload(client)))
    : []
  async function work() {
    while (uploads.length > 0) await uploads.pop()()
    while (sent() < size) await pick(SCENES, random)(pickClient())
  }
  const stalled = withUploads ? clients.map(stall) : []
  await Promise.all([...Array.from({ length: CONCURRENCY }, work), ...stalled])
  await Promise.all(clients.map((client) => client.close()))
  return clients.map(({ requests }) => requests)
}

/**
 * Records which deliveries the receivers acknowledged, and compares them with those that handlers completed. No
 * process is killed, so each acknowledged delivery must be handled exactly once, and no other.
 */
function createLedger() {
  const acknowledged = new Map()
  const handled = new Map()
  let count = 0
  return {
    /** Number of deliveries that were acknowledged and handled. */
    get count() {
      return count
    },
    /** @param {string} id @param {string} from name of the adapter */
    acknowledge: (id, from) => acknowledged.set(id, from),
    /** @param {readonly string[]} ids */
    handle(ids) {
      for (const id of ids) handled.set(id, (handled.get(id) ?? 0) + 1)
    },
    /** Compares, and forgets everything. Call it while no delivery is pending. @returns {string[]} faults */
    settle() {
      const faults = []
      for (const [id, from] of acknowledged) {
        const times = handled.get(id) ?? 0
        if (times !== 1) faults.push(`${from}: delivery ${id} was acknowledged and handled ${times} times`)
        else count++
        handled.delete(id)
      }
      for (const [id, times] of handled)
        faults.push(`delivery ${id} was handled ${times} times, but not acknowledged`)
      acknowledged.clear()
      handled.clear()
      return faults
    },
  }
}
