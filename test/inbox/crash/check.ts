/**
 * The verdict on a run, computed from what the sender and the processes of the receiver have written down, and from
 * nothing that the inbox says of itself.
 *
 * A process writes `begin <id>` when a handler begins, `success <id>` as the last thing that the handler does, and
 * `settled <id>` when the inbox says that the success is recorded, each with the time. A success without its `settled`
 * is open.
 *
 * - Every delivery that was acknowledged has a success. One without is lost.
 * - A delivery may succeed twice in two cases only: its first process was killed between the success and its record, and
 *   before the second attempt; or the server of the store was down between the success and the second attempt. So every
 *   success but the last must be open. A second success after a `settled`, after a graceful end, or in the same process
 *   without an outage of the server, is a fault.
 * - A handler's place is free when its end is recorded: no more successes may be open in a process than it has places,
 *   and as many more for each outage. So a kill doubles as many deliveries at most, and an inbox that records nothing
 *   cannot hide behind the kills.
 * - A process that ended gracefully has nothing open but successes of an outage.
 * - Nothing is handled that was not sent.
 */

/** One process of the receiver. */
export interface Life {
  lines: readonly string[]
  killed: boolean
  /** When it was killed. Several processes may live at the same time. */
  killedAt?: number
}

/** A time when the server of the store was down. */
export interface Outage {
  from: number
  to: number
}

export interface Sent {
  id: string
  /** Some attempt was answered 2xx. */
  acknowledged: boolean
}

export interface Verdict {
  sent: number
  acknowledged: number
  /** Deliveries with a success. */
  handled: number
  /** Deliveries with more than one. */
  doubled: number
  lost: string[]
  /** What must not be, in words. */
  faults: string[]
}

/** A success of a delivery. */
interface Success {
  id: string
  /** The process, by its number. */
  place: number
  begun: number
  at: number
  isOpen: boolean
}

export function check(
  sent: readonly Sent[],
  lives: readonly Life[],
  concurrency: number,
  outages: readonly Outage[] = [],
): Verdict {
  const faults: string[] = []
  const known = new Set(sent.map(({ id }) => id))
  const byId = new Map<string, Success[]>()
  const wasDown = (from: number, to: number) => outages.some((one) => one.from <= to && one.to >= from)

  for (const [place, life] of lives.entries()) {
    const read = readLife(life, place, concurrency * (1 + outages.length))
    faults.push(...read.faults.map((fault) => `process ${place}: ${fault}`))
    for (const success of read.successes) {
      byId.set(success.id, [...(byId.get(success.id) ?? []), success])
      if (success.isOpen && !life.killed && !wasDown(success.at, Infinity))
        faults.push(`process ${place}: ${success.id} is not recorded, and the process ended gracefully`)
    }
  }

  function isExcused({ isOpen, place, at }: Success, next: Success): boolean {
    if (!isOpen) return false
    if (wasDown(at, next.begun)) return true
    const { killed, killedAt = -Infinity } = lives[place] ?? { killed: false }
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
  const acknowledged = sent.filter((one) => one.acknowledged)
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    handled: byId.size,
    doubled: [...byId.values()].filter(({ length }) => length > 1).length,
    lost: acknowledged.map(({ id }) => id).filter((id) => !byId.has(id)),
    faults,
  }
}

function readLife({ lines }: Life, place: number, mostOpen: number) {
  const faults: string[] = []
  const begun = new Map<string, number>()
  const successes: Success[] = []
  const open = new Map<string, Success>()
  const wordsTo: Record<string, (id: string, at: number) => void> = {
    begin: (id, at) => begun.set(id, at),
    success(id, at) {
      if (!begun.has(id)) faults.push(`${id} succeeded and never began`)
      const success = { id, place, begun: begun.get(id) ?? at, at, isOpen: true }
      successes.push(success)
      open.set(id, success)
      if (open.size > mostOpen) faults.push(`${open.size} successes are not recorded at ${id}`)
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
    const read = wordsTo[word]
    if (read) read(id, Number(at))
    else faults.push(`no line of a log: ${line}`)
  }
  return { faults, successes }
}
