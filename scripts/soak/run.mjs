import { createDriver } from './driver.mjs'

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
