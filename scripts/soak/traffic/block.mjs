import { createClient } from './client.mjs'
import { CONNECTIONS } from './connections.mjs'
import { HONEST } from './honest.mjs'
import { REFUSED } from './refused.mjs'
import { stall, UPLOADS } from './uploads.mjs'

/** Number of scenes at a time. */
const CONCURRENCY = 24
/** Share of the scenes of a block that one adapter gets, so that its effect can be told apart from that of others. */
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
export async function sendBlock(targets, { focus, size, withUploads, random, ...run }) {
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
