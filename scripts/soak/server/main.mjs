// The process whose memory is measured: `node --expose-gc --import ./timers.mjs main.mjs <path of the inbox> <leak to
// plant>`.
// Each message names one of the tasks; the reply is its result.

import { plantLeak } from './leak.mjs'
import { startReceivers } from './receivers.mjs'
import { takeSample } from './samples.mjs'
import { countIdleTimers } from './timers.mjs'

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
