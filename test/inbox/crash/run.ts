import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { InboxStats } from 'geohook/inbox'
import { findPort } from '../../helpers/port.ts'
import { check, type Life, type Verdict } from './check.ts'
import { ENGINES, type Engine, type EngineName } from './engines.ts'
import { type Process, startReceiver } from './life.ts'
import { type Load, startLoad } from './load.ts'
import { type Kill, planKills } from './plan.ts'
import { createRandom } from './random.ts'

export interface Run {
  engine: EngineName
  kills: number
  seed: number
}

/** Handlers at a time. */
const CONCURRENCY = 4
const KEY = 'parcels2026'
/** A store is looked into after so many kills, and at the end: who looks also repairs, and that is the receiver's work. */
const LOOK_EVERY = 10
/** Milliseconds that it may take at most to empty the inbox at the end. */
const DRAIN = 120_000

/** Kills a receiver again and again under load, lets the last one finish, and judges. */
export async function runCrashes({ engine: name, kills, seed }: Run): Promise<Verdict> {
  const random = createRandom(seed)
  const plan = planKills(kills, random)
  const logs = await mkdtemp(join(tmpdir(), 'geohook-crash-logs-'))
  const engine = await ENGINES[name]()
  const port = await findPort()
  const hookUrl = `http://127.0.0.1:${port}/hook`
  const load = startLoad(hookUrl, KEY, random)
  const lives: { log: string; killed: boolean }[] = []
  let process: Process | undefined

  function start(): Process {
    const log = join(logs, `${lives.length}.log`)
    lives.push({ log, killed: true })
    process = startReceiver(toEnv(engine, { port, log }))
    return process
  }

  try {
    for (const [index, kill] of plan.entries()) {
      const receiver = start()
      await waitFor(kill, receiver, load)
      const [code, signal] = await receiver.end('SIGKILL')
      if (signal !== 'SIGKILL')
        throw new Error(`the receiver ended by itself, with ${code}:\n${receiver.errors}`)
      if (index % LOOK_EVERY === LOOK_EVERY - 1) await engine.requireSound()
    }
    const receiver = start()
    await receiver.listening
    const sent = await load.stop()
    const stats = await drain(`http://127.0.0.1:${port}/stats`)
    const [code] = await receiver.end('SIGTERM')
    if (code !== 0) throw new Error(`the receiver ended with ${code}:\n${receiver.errors}`)
    Object.assign(lives.at(-1) ?? {}, { killed: false })
    await engine.requireSound()
    const verdict = check(sent, await Promise.all(lives.map(read)), CONCURRENCY)
    verdict.faults.push(...compare(stats, verdict))
    return verdict
  } finally {
    await load.stop().catch(() => {})
    if (process && !process.ended) await process.end('SIGKILL')
    await engine.remove()
    await rm(logs, { recursive: true })
  }
}

const toEnv = ({ entry, factory, options }: Engine, { port, log }: { port: number; log: string }) => ({
  PORT: String(port),
  LOG: log,
  KEY,
  CONCURRENCY: String(CONCURRENCY),
  ENTRY: entry,
  FACTORY: factory,
  OPTIONS: JSON.stringify(options),
})

/** Resolves when the process is to be killed, and rejects where it ends by itself before it listens. */
async function waitFor(kill: Kill, { points, listening }: Process, load: Load): Promise<void> {
  const { afterStart, afterListening, afterAcknowledged = Infinity, at } = kill
  const times: Promise<unknown>[] = [listening.then(() => setTimeout(afterListening))]
  if (afterStart !== undefined) times.push(setTimeout(afterStart))
  if (at) {
    let left = at.times
    const came = new Promise<void>((resolve) => points.on(at.point, () => --left === 0 && resolve()))
    times.push(came.then(() => setTimeout(at.milliseconds)))
  }
  let left = afterAcknowledged
  let callOff = () => {}
  times.push(
    new Promise<void>((resolve) => {
      callOff = load.onAcknowledged(() => --left <= 0 && resolve())
    }),
  )
  await Promise.race(times).finally(callOff)
}

/** Waits until nothing waits and nothing is at work. */
async function drain(url: string): Promise<InboxStats> {
  const until = Date.now() + DRAIN
  for (;;) {
    const stats = (await (await fetch(url)).json()) as InboxStats
    if (stats.waiting + stats.active === 0) return stats
    if (Date.now() > until) throw new Error(`after ${DRAIN} ms there is still ${JSON.stringify(stats)}`)
    await setTimeout(100)
  }
}

/** What the inbox says at the end, beside what was seen. */
function compare({ done, dead }: InboxStats, { handled }: Verdict): string[] {
  const faults: string[] = []
  if (dead > 0) faults.push(`${dead} dead letters`)
  if (done !== handled) faults.push(`the inbox has ${done} done, and ${handled} were handled`)
  return faults
}

/** A process that was killed early has no log. */
async function read({ log, killed }: { log: string; killed: boolean }): Promise<Life> {
  const text = await readFile(log, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return { lines: text.split('\n').slice(0, -1), killed }
}

/** The figures of a run in one line. */
export function toLine({ engine, seed, kills }: Run, verdict: Verdict): string {
  const { sent, acknowledged, handled, doubled, lost, faults } = verdict
  const figures = {
    seed,
    kills,
    sent,
    acknowledged,
    handled,
    doubled,
    lost: lost.length,
    faults: faults.length,
  }
  return `${engine}: ${Object.entries(figures)
    .map(([name, figure]) => `${name} ${figure}`)
    .join(', ')}`
}
