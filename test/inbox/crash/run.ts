import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { InboxStats } from 'geohook/inbox'
import { findPort } from '../../helpers/port.ts'
import { startBalancer } from './balancer.ts'
import {
  type CrashHandler,
  check,
  checkNames,
  type NamesRun,
  type NamesVerdict,
  type Outage,
  type ProcessLog,
  type Verdict,
} from './check.ts'
import { checkGroups, type GroupVerdict } from './check-groups.ts'
import { checkOrder, type OrderVerdict } from './check-order.ts'
import { startEditLoad, startOrderedLoad } from './edit-load.ts'
import { ENGINES, type Engine, type EngineName } from './engines.ts'
import { type Load, startLoad } from './load.ts'
import { now } from './now.ts'
import { COALESCING_KINDS, type Kill, NAMES_KINDS, planKills, planServerKills } from './plan.ts'
import { createRandom } from './random.ts'
import { type Process, startReceiver } from './receiver-process.ts'

export interface Run {
  engine: EngineName
  kills: number
  seed: number
  /** Number of receiver processes on one store. Default 1. */
  receivers?: number
  /** Number of times that the server of the store is killed and restarted. Default 0. */
  serverKills?: number
  /** True to let the workers coalesce the deliveries of feature services. Default false. */
  coalesce?: boolean
  /** True for an app whose handlers have names. Default false. */
  names?: boolean
  /** True to keep the order of the deliveries of a feature service, for each of two handlers. Default false. */
  order?: boolean
}

/** Number of concurrent handlers in each receiver process. */
const CONCURRENCY = 4
/** Milliseconds for which a group gathers. */
const WAIT = 150
const KEY = 'parcels2026'
/** Handlers of the app, and of an older version, which lacks some. */
const HANDLERS: readonly CrashHandler[] = [{ changeType: '*' }]
const OLDER_HANDLERS: readonly CrashHandler[] = [{ changeType: 'esriJobSucceeded' }]
/** Most have a name, and one of them often fails. The older version of the app has none of those with a name. */
const AUDIT_CONCURRENCY = 2
const NAMED_HANDLERS: readonly CrashHandler[] = [
  { changeType: '*', failureRate: 0.02 },
  { name: 'erp', changeType: '*', attempts: 4, failureRate: 0.5 },
  { name: 'audit', changeType: '*', concurrency: AUDIT_CONCURRENCY },
  { name: 'mail', changeType: 'esriJobFailed', failureRate: 0.05 },
]
/** Both fail, and one of them gives up soon, so that later deliveries must wait for retries and for dead letters. */
const ORDERED_HANDLERS: readonly CrashHandler[] = [
  { changeType: '*', failureRate: 0.05 },
  { name: 'erp', changeType: '*', attempts: 3, failureRate: 0.2 },
]
/** Milliseconds between the first two attempts: long enough that others arrive, short enough for many attempts. */
const ORDERED_RETRY_DELAY = 500
/** Milliseconds for which a failing delivery holds the later ones: longer than any run. */
const HOLD = 2 ** 31 - 1
/** Number of kills between two checks of the store. Checks are rare, because a check may repair the store. */
const CHECK_INTERVAL = 10
/** Maximum milliseconds to wait, at the end of a run, until the inbox has no pending deliveries. */
const DRAIN_TIMEOUT = 120_000

/** The log file of a receiver process. */
interface LogFile {
  path: string
  killed: boolean
  killedAt?: number
}

/** Kills receivers repeatedly under load, lets the last receivers finish, and computes the verdict. */
export async function runCrashes(run: Run): Promise<Verdict | GroupVerdict | NamesVerdict | OrderVerdict> {
  const { engine: name, kills, seed, receivers = 1, serverKills = 0 } = run
  const { coalesce = false, names = false, order = false } = run
  const isNamed = names || order
  const random = createRandom(seed)
  const plan = planKills(kills, random, coalesce ? COALESCING_KINDS : isNamed ? NAMES_KINDS : undefined)
  const serverPlan = planServerKills(serverKills, random)
  const logFolder = await mkdtemp(join(tmpdir(), 'geohook-crash-logs-'))
  const engine = await ENGINES[name]({ isKilled: serverKills > 0 })
  const ports: number[] = []
  while (ports.length < receivers) ports.push(await findPort())
  const balancer = await startBalancer(ports)
  const startSending = order ? startOrderedLoad : coalesce ? startEditLoad : startLoad
  const load = startSending(`http://127.0.0.1:${balancer.port}/hook`, KEY, random)
  const logFiles: LogFile[] = []
  const outages: Outage[] = []
  const processes = new Set<Process>()
  const options = order ? { ...engine.options, retryDelay: ORDERED_RETRY_DELAY } : engine.options
  const handlers = order ? ORDERED_HANDLERS : names ? NAMED_HANDLERS : HANDLERS
  /** Resolves when the first process handles deliveries. Before that, it has announced its names. */
  let announce = () => {}
  const announced = new Promise<void>((resolve) => {
    announce = resolve
  })

  /** Every second process is an older version of the app, unless the workers coalesce or keep an order. */
  function start(port: number, slot: number): { logFile: LogFile; receiver: Process } {
    const logFile: LogFile = { path: join(logFolder, `${logFiles.length}.log`), killed: true }
    logFiles.push(logFile)
    const receiver = startReceiver({
      ...toEnv({ ...engine, options }, { port, log: logFile.path }),
      WAIT: coalesce ? String(WAIT) : '',
      HOLD: order ? String(HOLD) : '',
      HANDLERS: JSON.stringify(!coalesce && !order && slot % 2 === 1 ? OLDER_HANDLERS : handlers),
    })
    processes.add(receiver)
    return { logFile, receiver }
  }

  /** Starts and kills receivers on one port, one after another. The planned kills are divided among the ports. */
  async function killRepeatedly(port: number, slot: number): Promise<void> {
    for (const [index, kill] of plan.entries()) {
      if (index % receivers !== slot) continue
      const isFirst = index === 0
      if (names && !isFirst) await announced
      const { logFile, receiver } = start(port, slot)
      if (names && isFirst) await Promise.all([receiver.listening, once(receiver.points, 'handler')])
      announce()
      await waitFor(kill, receiver, load)
      logFile.killedAt = now()
      const [code, signal] = await receiver.end('SIGKILL')
      if (signal !== 'SIGKILL')
        throw new Error(`the receiver ended by itself, with ${code}:\n${receiver.errors}`)
      // With several receivers, another receiver may be using the store, so the store cannot be checked.
      if (receivers === 1 && index % CHECK_INTERVAL === CHECK_INTERVAL - 1) await engine.requireSound()
    }
  }

  async function killServer(): Promise<void> {
    for (const { after, down } of serverPlan) {
      await setTimeout(after)
      const outage = { from: now(), to: Infinity }
      outages.push(outage)
      await engine.server?.kill()
      await setTimeout(down)
      await engine.server?.start()
      outage.to = now()
    }
  }

  try {
    await Promise.all([...ports.map(killRepeatedly), killServer()])
    const last = ports.map(start)
    for (const { receiver } of last) await receiver.listening
    const sent = await load.stop()
    const url = `http://127.0.0.1:${ports[0]}`
    const stats = await drain(`${url}/stats`)
    const fates = isNamed ? await readFates(`${url}/fates`) : undefined
    for (const { logFile, receiver } of last) {
      const [code] = await receiver.end('SIGTERM')
      if (code !== 0) throw new Error(`the receiver ended with ${code}:\n${receiver.errors}`)
      logFile.killed = false
    }
    await engine.requireSound()
    const logs = await Promise.all(logFiles.map(read))
    if (fates) {
      const concurrency = CONCURRENCY + (names ? AUDIT_CONCURRENCY : 0)
      const verdict = checkNames(sent, logs, { handlers, concurrency, ...fates }, outages)
      const { dead } = verdict
      verdict.faults.push(...compare(stats, { done: fates.listed.length - dead, dead }))
      if (!order) return verdict
      const { waited, faults } = checkOrder(sent, logs)
      verdict.faults.push(...faults)
      return { ...verdict, waited }
    }
    const verdict = coalesce ? checkGroups(sent, logs) : check(sent, logs, CONCURRENCY, outages)
    verdict.faults.push(...compare(stats, { done: verdict.handled, dead: 0 }))
    return verdict
  } finally {
    await load.stop().catch(() => {})
    for (const process of processes) if (!process.ended) await process.end('SIGKILL')
    await balancer.close()
    await engine.remove()
    await rm(logFolder, { recursive: true })
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

/** Resolves when it is time to kill the process. Rejects if the process exits by itself before it listens. */
async function waitFor(kill: Kill, { points, listening }: Process, load: Load): Promise<void> {
  const { afterStart, afterListening, afterAcknowledged = Infinity, at } = kill
  const times: Promise<unknown>[] = [listening.then(() => setTimeout(afterListening))]
  if (afterStart !== undefined) times.push(setTimeout(afterStart))
  if (at) {
    let left = at.times
    const reached = new Promise<void>((resolve) => points.on(at.point, () => --left === 0 && resolve()))
    times.push(reached.then(() => setTimeout(at.milliseconds)))
  }
  let left = afterAcknowledged
  let removeListener = () => {}
  times.push(
    new Promise<void>((resolve) => {
      removeListener = load.onAcknowledged(() => --left <= 0 && resolve())
    }),
  )
  await Promise.race(times).finally(removeListener)
}

/** Milliseconds by which numbers above 1,000 in the statistics can be old: the documented ten seconds, and a count. */
const STATS_AGE = 15_000

/** Waits until all deliveries have ended, and a worker has handled those that another one could not. */
async function drain(url: string): Promise<InboxStats> {
  const until = Date.now() + DRAIN_TIMEOUT
  let drainedAt = Number.POSITIVE_INFINITY
  for (;;) {
    const response = await fetch(url)
    if (!response.ok) throw new Error(`the statistics of the inbox are unavailable: ${response.status}`)
    const stats = (await response.json()) as InboxStats
    if (stats.waiting + stats.active + stats.unhandled === 0) drainedAt = Math.min(drainedAt, Date.now())
    if (Date.now() >= drainedAt + (stats.done > 1_000 ? STATS_AGE : 0)) return stats
    if (Date.now() > until)
      throw new Error(`after ${DRAIN_TIMEOUT} ms there is still ${JSON.stringify(stats)}`)
    await setTimeout(100)
  }
}

type Fates = Pick<NamesRun, 'listed' | 'got'>

async function readFates(url: string): Promise<Fates> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`the fates of the inbox are unavailable: ${response.status}`)
  return (await response.json()) as Fates
}

/** Compares the statistics of the inbox with the expected ones. Returns the differences. */
function compare(stats: InboxStats, expected: { done: number; dead: number }): string[] {
  const faults: string[] = []
  if (stats.dead !== expected.dead) faults.push(`${stats.dead} dead letters instead of ${expected.dead}`)
  if (stats.unhandled > 0) faults.push(`${stats.unhandled} unhandled deliveries`)
  if (stats.done !== expected.done)
    faults.push(`the inbox has ${stats.done} done, and ${expected.done} were handled`)
  return faults
}

/** Reads the log of a process. Returns an empty log if the process was killed before it created the file. */
async function read({ path, ...killed }: LogFile): Promise<ProcessLog> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return { ...killed, lines: text.split('\n').slice(0, -1) }
}
