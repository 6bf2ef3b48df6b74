import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seeded } from '../timing/statistics.mjs'
import { bundleServer } from './server-process.mjs'
import { sendBlock } from './traffic/block.mjs'
import { createLedger } from './traffic/ledger.mjs'

/** Every so many blocks, some uploads stall until the timeout of the receiver. */
const STALL_INTERVAL = 4
const STALLS = 2

/**
 * @typedef {object} Sent
 * @property {readonly number[]} counts number of requests to each adapter
 * @property {number} requests their sum
 */

/**
 * Controls the server process, sends traffic to it, and records everything that is wrong.
 *
 * @param {{ seed: number, leak: number, blockSize: number }} options `blockSize`: minimum number of requests between two
 *   samples
 */
export async function createDriver({ seed, leak, blockSize }) {
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
      targets = await server.ask({ task: 'open', generation: generation++ })
    },

    /** Closes receivers and inbox, also if deliveries are pending. @returns a sample while everything is closed */
    async close() {
      ledger.handle(await server.ask({ task: 'close' }))
      return server.ask({ task: 'sample' })
    },

    /** Sends one block of requests. @returns {Promise<Sent>} */
    async send(size = blockSize) {
      const stalls = blocks++ % STALL_INTERVAL === 0 ? STALLS : 0
      const focus = Math.floor(random() * targets.length)
      const nextId = () => `${seed}-${ids++}`
      const counts = await sendBlock(targets, { focus, size, stalls, random, ledger, onFault, nextId })
      const sent = { counts, requests: counts.reduce((sum, count) => sum + count, 0) }
      requests += sent.requests
      return sent
    },

    /** Waits until all deliveries are handled, and compares. */
    async settle() {
      const { handled, troubles } = await server.ask({ task: 'drain' })
      ledger.handle(handled)
      for (const fault of [...troubles, ...ledger.settle()]) onFault(fault)
    },

    /** Sends one block, and takes a sample when everything is handled. */
    async measure() {
      const sent = await driver.send()
      await driver.settle()
      return { ...sent, ...(await server.ask({ task: 'sample' })) }
    },

    async end() {
      await server?.close()
      await bundle.remove()
      await rm(folder, { recursive: true })
    },
  }
  return driver
}
