import { fileURLToPath } from 'node:url'
import { start } from '../lib/child.mjs'
import { interleave } from '../lib/rounds.mjs'
import { check } from './check.mjs'

/** @typedef {{ rate: number, cpu: number }} Sample requests a second, and microseconds of the core for each */
/** @typedef {Map<string, Sample>} Round by the keys of the subjects that were measured in it, one right after another */

/**
 * @typedef {object} Plan
 * @property {number} connections each with one request in flight
 * @property {number} passes with new processes: each has its own luck with what it compiles, and where its memory lies
 * @property {number} seconds for all of it: a pass that would not end within them is left out
 * @property {number} milliseconds of one measurement
 * @property {Record<number, { warmup: number, all: number, goals: number }>} rounds by size of the body, in each pass:
 *   how many requests come first, which do not count; rounds of all subjects, and then of those that goals depend on alone
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
    if (each * (pass + 1) > plan.seconds) break // on a slow machine, or a busy one
  }
  return rounds
}

/** Servers share one core, of which the one that is asked has all; the load comes from the other. */
async function withProcesses(subjects, work) {
  const started = await Promise.allSettled([
    start(path('load.mjs'), { core: 1 }),
    // geohook warns of what it refuses, and the check sends that.
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
  // Compiling goes on for thousands of requests, and a goal is about what comes after.
  const warmupOf = ({ goal }) => (goal ? warmup : warmup / 4)
  const measure = async (key, round) => {
    const server = servers.get(key)
    const before = await server.ask('state')
    const question = {
      port: server.ready,
      size,
      connections,
      milliseconds,
      atLeast: round < 0 ? warmupOf(subjects[key]) : 0,
    }
    const { answers, seconds } = await load.ask(question)
    const after = await server.ask('state')
    const handled = after.handled - before.handled
    if (handled !== answers) throw new Error(`${key}: ${answers} answers, but ${handled} events handled`)
    return { rate: answers / seconds, cpu: (after.cpu - before.cpu) / answers }
  }
  const keys = Object.keys(subjects)
  return [
    ...toRounds(await interleave(keys, { rounds: all, warmup: Math.sign(warmup), measure }), all),
    ...toRounds(
      await interleave(
        keys.filter((key) => subjects[key].goal),
        { rounds: goals, warmup: 0, measure },
      ),
      goals,
    ),
  ]
}

/** @returns {Round[]} */
const toRounds = (samples, count) =>
  Array.from({ length: count }, (_, round) => new Map([...samples].map(([key, list]) => [key, list[round]])))
