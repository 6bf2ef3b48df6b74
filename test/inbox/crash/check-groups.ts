import type { ProcessLog, Sent, Verdict } from './check.ts'

/**
 * Computes the verdict on a run whose workers coalesce, from the log of the sender and the logs of the processes. The
 * lines are those of `check.ts`, but `begin` and `success` name all deliveries of a group, separated by commas.
 *
 * - Every acknowledged delivery has a success. Otherwise it is lost.
 * - Either all deliveries of a successful group are handled again, or none of them. None may be handled again if one of
 *   them is recorded, in a process that exited gracefully, or in the same process.
 * - A process that exited gracefully has recorded all successes.
 * - Every handled delivery was sent.
 */
export interface GroupVerdict extends Verdict {
  /** Number of calls that succeeded. */
  calls: number
  /** Number of deliveries in the largest group. */
  largest: number
  /** Number of successful groups of several deliveries that were handled again. */
  repeated: number
}

/** A successful call. */
interface Group {
  ids: readonly string[]
  /** Index of the process's log. */
  place: number
  begun: number
  at: number
}

export function checkGroups(sent: readonly Sent[], logs: readonly ProcessLog[]): GroupVerdict {
  const faults: string[] = []
  const groups: Group[] = []
  const settled = new Set<string>()
  for (const [place, { lines }] of logs.entries()) {
    const begun = new Map<string, number>()
    for (const line of lines) {
      const [, word, list = '', at = '0'] = /^(begin|success|settled) (\S+)(?: #\d+)? (\d+)$/.exec(line) ?? []
      const ids = list.split(',')
      if (word === 'begin') begun.set(list, Number(at))
      else if (word === 'settled') settled.add(list)
      else if (word === 'success') groups.push({ ids, place, begun: begun.get(list) ?? 0, at: Number(at) })
      else faults.push(`process ${place}: unreadable log line: ${line}`)
    }
  }
  groups.sort((a, b) => a.at - b.at)

  let repeated = 0
  for (const [index, group] of groups.entries()) {
    const { ids, place } = group
    const name = `the group ${ids} of process ${place}`
    const later = groups.slice(index + 1)
    const again = ids.filter((id) => later.some((other) => other.ids.includes(id)))
    if (again.length === 0) {
      if (logs[place]?.killed === false && ids.some((id) => !settled.has(id)))
        faults.push(`${name} is not recorded, and the process ended gracefully`)
      continue
    }
    if (ids.length > 1) repeated++
    if (again.length < ids.length) faults.push(`${name} is half recorded: ${again} were handled again`)
    if (isSettledIn(logs[place], ids)) faults.push(`${name} was recorded, and ${again} were handled again`)
    if (later.some((other) => other.place === place && other.ids.some((id) => ids.includes(id))))
      faults.push(`${name} was handled twice in one process`)
  }

  const known = new Set(sent.map(({ id }) => id))
  const handled = groups.flatMap(({ ids }) => ids)
  const distinct = new Set(handled)
  for (const id of distinct) if (!known.has(id)) faults.push(`${id} was handled and never sent`)
  const acknowledged = sent.filter(({ acknowledged }) => acknowledged)
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    handled: distinct.size,
    doubled: [...distinct].filter((id) => handled.indexOf(id) !== handled.lastIndexOf(id)).length,
    lost: acknowledged.map(({ id }) => id).filter((id) => !distinct.has(id)),
    faults,
    calls: groups.length,
    largest: groups.reduce((largest, { ids }) => Math.max(largest, ids.length), 0),
    repeated,
  }
}

/** True if a process has reported that one of the deliveries is recorded. */
function isSettledIn(log: ProcessLog | undefined, ids: readonly string[]): boolean {
  const settled = new Set(
    log?.lines.flatMap((line) => (line.startsWith('settled ') ? line.split(' ')[1] : [])),
  )
  return ids.some((id) => settled.has(id))
}
