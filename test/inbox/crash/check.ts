/**
 * Computes the verdict on a run from two sources: the log of the sender and the logs of the receiver processes. It does
 * not use the statistics of the inbox.
 *
 * A process logs `begin <id>` when a handler begins, `success <id>` just before the handler ends, and `settled <id>`
 * when the inbox reports that the success is recorded. Each line ends with the time. A success without a `settled` line
 * is called open.
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

/** One success of one delivery. */
interface Success {
  id: string
  /** Index of the process's log in the list of logs. */
  place: number
  begun: number
  at: number
  isOpen: boolean
}

export function check(
  sent: readonly Sent[],
  logs: readonly ProcessLog[],
  concurrency: number,
  outages: readonly Outage[] = [],
): Verdict {
  const faults: string[] = []
  const known = new Set(sent.map(({ id }) => id))
  const byId = new Map<string, Success[]>()
  const wasDown = (from: number, to: number) =>
    outages.some((outage) => outage.from <= to && outage.to >= from)

  for (const [place, log] of logs.entries()) {
    const read = readLog(log, place, concurrency * (1 + outages.length))
    faults.push(...read.faults.map((fault) => `process ${place}: ${fault}`))
    for (const success of read.successes) {
      byId.set(success.id, [...(byId.get(success.id) ?? []), success])
      if (success.isOpen && !log.killed && !wasDown(success.at, Infinity))
        faults.push(`process ${place}: ${success.id} is not recorded, and the process ended gracefully`)
    }
  }

  function isExcused({ isOpen, place, at }: Success, next: Success): boolean {
    if (!isOpen) return false
    if (wasDown(at, next.begun)) return true
    const { killed, killedAt = -Infinity } = logs[place] ?? { killed: false }
    return place !== next.place && killed && killedAt <= next.begun
  }

  for (const [id, successes] of byId) {
    if (!known.has(id)) faults.push(`${id} was handled and never sent`)
    successes.sort((a, b) => a.at - b.at)
    for (const [index, success] of successes.slice(0, -1).entries()) {
      const next = successes[index + 1] as Success
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

function readLog({ lines }: ProcessLog, place: number, maxOpen: number) {
  const faults: string[] = []
  const begun = new Map<string, number>()
  const successes: Success[] = []
  const open = new Map<string, Success>()
  const readers: Record<string, (id: string, at: number) => void> = {
    begin: (id, at) => begun.set(id, at),
    success(id, at) {
      if (!begun.has(id)) faults.push(`${id} succeeded and never began`)
      const success = { id, place, begun: begun.get(id) ?? at, at, isOpen: true }
      successes.push(success)
      open.set(id, success)
      if (open.size > maxOpen) faults.push(`${open.size} successes are not recorded at ${id}`)
    },
    settled(id) {
      const success = open.get(id)
      if (!success) return faults.push(`${id} was recorded without a success`)
      success.isOpen = false
      open.delete(id)
    },
  }
  for (const line of lines) {
    const [, word = '', id = '', at = '0'] = /^(begin|success|settled) (\S+)(?: (\d+))?$/.exec(line) ?? []
    const read = readers[word]
    if (read) read(id, Number(at))
    else faults.push(`unreadable log line: ${line}`)
  }
  return { faults, successes }
}
