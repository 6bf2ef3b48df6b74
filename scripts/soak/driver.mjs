import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { seeded } from '../random.mjs'
import { bundleServer } from './server-process.mjs'
import { sendBlock } from './traffic/block.mjs'
import { createLedger } from './traffic/ledger.mjs'

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
