import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'
import { interleave } from '../lib/rounds.mjs'
import { check } from './check.mjs'

/** @typedef {{ rate: number, cpu: number }} Sample requests per second, and CPU microseconds per request */
/** @typedef {Map<string, Sample>} Round the samples of one round by subject, measured in immediate succession */

/**
 * @typedef {object} Plan
 * @property {number} connections number of connections, each with one request in flight
 * @property {number} passes number of passes, each in new processes: compilation and memory layout vary by process
 * @property {number} seconds time limit for all passes; a pass that would exceed it is skipped
 * @property {number} milliseconds per measurement
 * @property {Record<number, { warmup: number, all: number, goals: number }>} rounds by size of the body, in each pass:
 *   `warmup` requests, `all` rounds of all subjects, and `goals` further rounds of subjects with a goal
 */

const path = (name) => fileURLToPath(new URL(name, import.meta.url))

/**
 * @param {Record<string, import('./subjects.mjs').Subject>} subjects
 * @param {Plan} plan
 * @param {(line: string) => void} say
 * @returns {Promise<Map<number, Round[]>>} by size of the body
 */
export async function measureHttp(subjects, plan, say) {
  const sizes = Object.keys(plan.rounds).map(Number)
  const rounds = new Map(sizes.map((size) => [size, []]))
  const started = performance.now()
  for (let pass = 1; pass <= plan.passes; pass++) {
    say(`pass ${pass} of ${plan.passes}: ${Object.keys(subjects).length} servers`)
    await withProcesses(subjects, async (servers, load) => {
      for (const size of sizes) {
        for (const [key, subject] of Object.entries(subjects)) await check(subject, servers.get(key), size)
        rounds.get(size).push(...(await measureSize(subjects, { size, servers, load, plan })))
      }
    })
    const each = (performance.now() - started) / 1000 / pass
    if (each * (pass + 1) > plan.seconds) break // happens only on a slow or busy machine
  }
  return rounds
}

/** Starts the load generator on one core, and all servers on another, where only one server is active at a time. */
async function withProcesses(subjects, work) {
  const started = await Promise.allSettled([
    start(path('load.mjs'), { core: 1 }),
    // Without `--no-warnings`, geohook would emit warnings for the invalid requests of `check`.
    ...Object.values(subjects).map(({ file, server }) =>
      start(path('server.mjs'), { core: 0, args: [file, server], execArgv: ['--no-warnings'] }),
    ),
  ])
  const running = started.filter(({ status }) => status === 'fulfilled').map(({ value }) => value)
  try {
    const dead = started.find(({ status }) => status === 'rejected')
    if (dead) throw dead.reason
    const [load, ...servers] = running
    await work(new Map(Object.keys(subjects).map((key, index) => [key, servers[index]])), load)
  } finally {
    await Promise.all(running.map((child) => child.close()))
  }
}

async function measureSize(subjects, { size, servers, load, plan }) {
  const { connections, milliseconds } = plan
  const { warmup, all, goals } = plan.rounds[size]
  // V8 keeps optimizing during the first thousands of requests. Only subjects with a goal are warmed up for that long.
  const hasGoal = (key) => subjects[key].goals?.includes(size) === true
  const warmupOf = (key) => (hasGoal(key) ? warmup : warmup / 4)
  const measure = async (key, round) => {
    const server = servers.get(key)
    const before = await server.ask('state')
    const question = {
      port: server.ready,
      size,
      connections,
      milliseconds,
      atLeast: round < 0 ? warmupOf(key) : 0,
    }
    const { responses, seconds } = await load.ask(question)
    const after = await server.ask('state')
    const handled = after.handled - before.handled
    if (handled !== responses)
      throw new Error(`${key}: ${responses} responses, but ${handled} events handled`)
    return { rate: responses / seconds, cpu: (after.cpu - before.cpu) / responses }
  }
  const keys = Object.keys(subjects)
  return [
    ...toRounds(await interleave(keys, { rounds: all, warmup: Math.sign(warmup), measure }), all),
    ...toRounds(await interleave(keys.filter(hasGoal), { rounds: goals, warmup: 0, measure }), goals),
  ]
}

/** @returns {Round[]} */
const toRounds = (samples, count) =>
  Array.from({ length: count }, (_, round) => new Map([...samples].map(([key, list]) => [key, list[round]])))
