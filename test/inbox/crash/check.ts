/**
 * Computes the verdict on a run from two sources: the log of the sender and the logs of the receiver processes. It does
 * not use the statistics of the inbox.
 *
 * A process logs `begin <id>` when a handler begins, `success <id>` or `failure <id>` just before the handler ends, and
 * `settled <id>` when the inbox reports that this end is recorded, or `dead <id>` if the delivery became a dead letter.
 * Each line ends with the number of the attempt and the time, in nanoseconds of the clock that all processes of the
 * machine share. An end without a `settled` line is called open.
 *
 * - Every acknowledged delivery has a success. Otherwise it is lost.
 * - A delivery may succeed again only if its previous success is open. In addition, before the next attempt, either the
 *   process of that success was killed, or the server of the store was down. A second success after a `settled` line,
 *   after a graceful exit, or in the same process without an outage of the server is a fault.
 * - A process may have at most as many open successes as its concurrency, plus the same number for each outage, because
 *   a handler occupies its slot until the inbox has recorded the success. This rule limits the duplicates that a kill
 *   can cause, and detects an inbox that records nothing.
 * - A process that exited gracefully has no open successes, except those caused by an outage.
 * - Every handled delivery was sent.
 */

/** The log of one receiver process. */
export interface ProcessLog {
  lines: readonly string[]
  killed: boolean
  /** Time of the kill. The order of the logs cannot replace it, because processes may run concurrently. */
  killedAt?: number
}

/** A period in which the server of the store was down. */
export interface Outage {
  from: number
  to: number
}

export interface Sent {
  id: string
  /** True if an attempt received a 2xx response. */
  acknowledged: boolean
  changeType?: string
  /** The feature service. */
  service?: string
  /** When the sender sent it first, and when it received the 2xx response. */
  sentAt?: number
  answeredAt?: number
}

export interface Verdict {
  sent: number
  acknowledged: number
  /** Number of deliveries with a success. */
  handled: number
  /** Number of deliveries with more than one success. */
  doubled: number
  lost: string[]
  /** Descriptions of violated rules. */
  faults: string[]
}

/** One attempt to handle one delivery. */
export interface Attempt {
  id: string
  /** Index of the process's log in the list of logs. */
  place: number
  /** Number of the attempt. 0 if the log does not have it. */
  number: number
  begun: number
  /** How the handler ended. */
  end?: 'success' | 'failure'
  at: number
  /** True until the inbox reports that the end is recorded. */
  isOpen: boolean
}

/** Returns a function that returns true if the server of the store was down at some time in an interval. */
const createWasDown =
  (outages: readonly Outage[]) =>
  (from: number, to: number): boolean =>
    outages.some((outage) => outage.from <= to && outage.to >= from)

export function check(
  sent: readonly Sent[],
  logs: readonly ProcessLog[],
  concurrency: number,
  outages: readonly Outage[] = [],
): Verdict {
  const faults: string[] = []
  const known = new Set(sent.map(({ id }) => id))
  const byId = new Map<string, Attempt[]>()
  const wasDown = createWasDown(outages)

  for (const [place, log] of logs.entries()) {
    const read = readLog(log, place, concurrency * (1 + outages.length))
    faults.push(...read.faults.map((fault) => `process ${place}: ${fault}`))
    for (const attempt of read.attempts) {
      const { id, end, at, isOpen } = attempt
      if (end === 'success') byId.set(id, [...(byId.get(id) ?? []), attempt])
      if (end && isOpen && !log.killed && !wasDown(at, Infinity))
        faults.push(`process ${place}: ${id} is not recorded, and the process ended gracefully`)
    }
  }

  function isExcused({ isOpen, place, at }: Attempt, next: Attempt): boolean {
    if (!isOpen) return false
    if (wasDown(at, next.begun)) return true
    const { killed, killedAt = -Infinity } = logs[place] ?? { killed: false }
    return place !== next.place && killed && killedAt <= next.begun
  }

  for (const [id, successes] of byId) {
    if (!known.has(id)) faults.push(`${id} was handled and never sent`)
    successes.sort((a, b) => a.at - b.at)
    for (const [index, success] of successes.slice(0, -1).entries()) {
      const next = successes[index + 1] as Attempt
      if (isExcused(success, next)) continue
      if (success.place === next.place)
        faults.push(`process ${success.place}: ${id} was handled twice in one process`)
      else faults.push(`${id} was handled again after its success in process ${success.place} was recorded`)
    }
  }
  const acknowledged = sent.filter(({ acknowledged }) => acknowledged)
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    handled: byId.size,
    doubled: [...byId.values()].filter(({ length }) => length > 1).length,
    lost: acknowledged.map(({ id }) => id).filter((id) => !byId.has(id)),
    faults,
  }
}

export function readLog(
  { lines }: ProcessLog,
  place: number,
  maxOpen: number,
): { faults: string[]; attempts: Attempt[]; deadLetters: string[] } {
  const faults: string[] = []
  const attempts: Attempt[] = []
  const deadLetters: string[] = []
  const last = new Map<string, Attempt>()
  const open = new Map<string, Attempt>()

  function begin(id: string, begun: number, number: number): Attempt {
    const attempt = { id, place, number, begun, at: Infinity, isOpen: true }
    attempts.push(attempt)
    last.set(id, attempt)
    return attempt
  }

  const endWith = (end: 'success' | 'failure') => (id: string, at: number, number: number) => {
    const begun = last.get(id)
    if (!begun) faults.push(`${id} succeeded and never began`)
    const attempt = begun && !begun.end ? begun : begin(id, begun?.begun ?? at, number)
    Object.assign(attempt, { end, at })
    open.set(id, attempt)
    if (open.size > maxOpen) faults.push(`${open.size} successes are not recorded at ${id}`)
  }

  function settle(id: string): boolean {
    const attempt = open.get(id)
    if (attempt) attempt.isOpen = false
    return open.delete(id)
  }

  const readers: Record<string, (id: string, at: number, number: number) => void> = {
    begin,
    success: endWith('success'),
    failure: endWith('failure'),
    settled(id) {
      if (!settle(id)) faults.push(`${id} was recorded without a success`)
    },
    /** The handler did not run if processes ended during the last allowed attempt. */
    dead(id) {
      settle(id)
      deadLetters.push(id)
    },
  }
  for (const line of lines) {
    const [, word = '', id = '', number = '0', at = '0'] =
      /^(begin|success|failure|settled|dead) (\S+)(?: #(\d+))?(?: (\d+))?$/.exec(line) ?? []
    const read = readers[word]
    if (read) read(id, Number(at), Number(number))
    else faults.push(`unreadable log line: ${line}`)
  }
  return { faults, attempts, deadLetters }
}

/** A handler of the app. */
export interface CrashHandler {
  name?: string
  /** The change type that it handles, or `*`. */
  changeType: string
  /** Maximum number of attempts. Default: that of the inbox. */
  attempts?: number
  concurrency?: number
  /** The share of its attempts that fail, from 0 to 1. Default 0. */
  failureRate?: number
}

/** One fate at the end of a run, as the inbox returns it. */
export interface StoredFate {
  /** The id, and after a slash the name of the handler, if it has one. */
  task: string
  state: string
  attempts: number
}

/** What {@link checkNames} needs, besides the logs. */
export interface NamesRun {
  /** All handlers of the newest version of the app. */
  handlers: readonly CrashHandler[]
  /** Maximum number of handlers that run at the same time in a process. */
  concurrency: number
  /** All fates at the end of the run, according to `list()` and to `get()`. */
  listed: readonly StoredFate[]
  got: readonly StoredFate[]
}

export interface NamesVerdict extends Verdict {
  /** Number of fates of the acknowledged deliveries. */
  fates: number
  /** Number of attempts that failed. */
  failures: number
  /** Number of fates that are dead letters. */
  dead: number
}

/** What becomes of a delivery in one handler. */
interface Task extends Sent {
  delivery: string
  /** Maximum number of attempts. */
  max: number
}

/** The default of the inbox. */
const MAX_ATTEMPTS = 25

/**
 * Computes the verdict on a run whose handlers have names. In the logs, `<id>` is a task: the id of a delivery, and
 * after a slash the name of the handler, if it has one. The rules of {@link check} apply to each task, so a failure of
 * one handler never excuses a second success of another. In addition:
 *
 * - A task may be a dead letter instead, but only after the maximum number of attempts.
 * - Attempts are numbered from 1. A recorded failure increases the number of its own task by 1. An attempt that was
 *   interrupted by a kill may count or not.
 * - An attempt may begin only after the previous one has failed or was interrupted.
 * - Each kill may hide one attempt: the inbox has counted it, but its handler has not begun.
 * - At the end, the inbox has exactly the fates of the handlers of each delivery. Each of them is done, with the number
 *   of its last attempt, or dead.
 */
export function checkNames(
  sent: readonly Sent[],
  logs: readonly ProcessLog[],
  { handlers, concurrency, listed, got }: NamesRun,
  outages: readonly Outage[] = [],
): NamesVerdict {
  const tasks: Task[] = sent.flatMap(({ id, acknowledged, changeType }) =>
    handlers
      .filter((handler) => handler.changeType === '*' || handler.changeType === changeType)
      .map(({ name, attempts: max = MAX_ATTEMPTS }) => ({
        id: name === undefined ? id : `${id}/${name}`,
        acknowledged,
        delivery: id,
        max,
      })),
  )
  const { lost, faults, ...figures } = check(tasks, logs, concurrency, outages)
  const stored = new Map(listed.map((fate) => [fate.task, fate]))
  const wasDown = createWasDown(outages)
  const read = logs.map((log, place) => readLog(log, place, Infinity))
  const attempts = new Map<string, Attempt[]>()
  for (const attempt of read.flatMap((one) => one.attempts))
    attempts.set(attempt.id, [...(attempts.get(attempt.id) ?? []), attempt])
  const deadLetters = new Set(read.flatMap((one) => one.deadLetters))
  const kills = logs.flatMap(({ killed, killedAt = -Infinity }) => (killed ? [killedAt] : []))
  let hidden = 0

  /** Checks that an attempt may begin, or that a task may be a dead letter, after the previous attempt. */
  function checkNext(task: string, previous: Attempt | undefined, number: number, begun: number): void {
    if (previous?.end === 'success' && !previous.isOpen)
      faults.push(
        `${task}: attempt ${number} began after a success in process ${previous.place} was recorded`,
      )
    const isRecorded = previous === undefined || !previous.isOpen
    const { killed, killedAt = -Infinity } = logs[previous?.place ?? -1] ?? { killed: false }
    const isInterrupted = !isRecorded && ((killed && killedAt <= begun) || wasDown(previous.begun, begun))
    if (!isRecorded && !isInterrupted)
      faults.push(`${task}: attempt ${number} began while process ${previous.place} handled it`)
    const more = number - (previous?.number ?? 0) - 1
    const from = previous?.begun ?? -Infinity
    const canHide = kills.some((at) => at >= from && at <= begun) || wasDown(from, begun)
    if (more < (isInterrupted ? -1 : 0) || (more > 0 && !canHide))
      faults.push(`${task}: attempt ${number} follows attempt ${previous?.number ?? 0}`)
    else if (more > 0) hidden += more
  }

  for (const { id: task, max } of tasks) {
    const all = attempts.get(task)?.sort((a, b) => a.begun - b.begun) ?? []
    for (const [index, { number, begun }] of all.entries()) {
      checkNext(task, all[index - 1], number, begun)
      if (number > max) faults.push(`${task}: attempt ${number} of ${max}`)
    }
    const last = all.at(-1)
    const fate = stored.get(task)
    if (fate?.state === 'dead') checkNext(task, last, max + 1, Infinity)
    else if (deadLetters.has(task)) faults.push(`${task} was reported as dead, and is ${fate?.state}`)
    const expected = fate?.state === 'dead' ? max : last?.number
    if (fate && fate.attempts !== expected)
      faults.push(`${task}: the inbox has ${fate.attempts} attempts, and not ${expected}`)
    if (fate?.state === 'done' && last?.end !== 'success')
      faults.push(`${task} is done, and its last attempt did not succeed`)
  }
  if (hidden > kills.length && outages.length === 0)
    faults.push(`${hidden} attempts were counted and never began, in ${kills.length} kills`)

  faults.push(...compareFates(tasks, listed, got))
  return {
    ...figures,
    sent: sent.length,
    acknowledged: sent.filter(({ acknowledged }) => acknowledged).length,
    fates: figures.acknowledged,
    failures: [...attempts.values()].flat().filter(({ end }) => end === 'failure').length,
    dead: listed.filter(({ state }) => state === 'dead').length,
    lost: lost.filter((task) => stored.get(task)?.state !== 'dead'),
    faults,
  }
}

/** Checks that the inbox has the fates of all tasks, and that all of them have ended. */
function compareFates(
  tasks: readonly Task[],
  listed: readonly StoredFate[],
  got: readonly StoredFate[],
): string[] {
  const faults: string[] = []
  const stored = new Set(listed.map(({ task }) => task))
  const deliveries = new Set(listed.map(({ task }) => task.split('/')[0]))
  for (const { id: task, acknowledged, delivery } of tasks)
    if (!stored.has(task) && (acknowledged || deliveries.has(delivery)))
      faults.push(`${task} is missing in the inbox`)
  const known = new Set(tasks.map(({ id }) => id))
  for (const { task, state } of listed) {
    if (!known.has(task)) faults.push(`${task} is in the inbox, and has no handler`)
    if (state !== 'done' && state !== 'dead') faults.push(`${task} is ${state} at the end`)
  }
  const toLines = (fates: readonly StoredFate[]) =>
    fates.map(({ task, state, attempts }) => `${task} ${state} ${attempts}`).sort()
  const [inList, inGet] = [toLines(listed), toLines(got)]
  const index = inList.findIndex((line, index) => line !== inGet[index])
  if (index >= 0 || inList.length !== inGet.length)
    faults.push(`list() returns ${inList[index] ?? 'less'}, and get() ${inGet[index] ?? 'less'}`)
  return faults
}
