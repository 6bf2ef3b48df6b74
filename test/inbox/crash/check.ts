/**
 * The verdict on a run, computed from what the sender and the processes of the receiver have written down, and from
 * nothing that the inbox says of itself.
 *
 * A process writes `begin <id>` when a handler begins, `success <id>` as the last thing that the handler does, and
 * `settled <id>` when the inbox says that the success is recorded. A success without its `settled` is open.
 *
 * - Every delivery that was acknowledged has a success. One without is lost.
 * - A delivery may succeed twice in one case only: the process was killed between the success and its record. So every
 *   success but the last must be open at the end of a process that was killed. A second success after a `settled`, after
 *   a graceful end, or in the same process, is a fault.
 * - A handler's place is free when its end is recorded: no more successes may be open in a process than it has places.
 *   So a kill doubles as many deliveries at most, and an inbox that records nothing cannot hide behind the kills.
 * - A process that ended gracefully has nothing open.
 * - Nothing is handled that was not sent.
 */

/** One process of the receiver. */
export interface Life {
  lines: readonly string[]
  killed: boolean
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

export function check(sent: readonly Sent[], lives: readonly Life[], concurrency: number): Verdict {
  const faults: string[] = []
  const known = new Set(sent.map(({ id }) => id))
  const successes = new Map<string, number[]>()
  const openAtEnd = lives.map((life, index) => {
    const read = readLife(life, concurrency)
    faults.push(...read.faults.map((fault) => `process ${index}: ${fault}`))
    for (const id of read.succeeded) successes.set(id, [...(successes.get(id) ?? []), index])
    return read.open
  })

  for (const [id, places] of successes) {
    if (!known.has(id)) faults.push(`${id} was handled and never sent`)
    for (const place of places.slice(0, -1)) {
      const isExcused = lives[place]?.killed && openAtEnd[place]?.has(id)
      if (!isExcused)
        faults.push(`${id} was handled again after its success in process ${place} was recorded`)
    }
  }
  const acknowledged = sent.filter((one) => one.acknowledged)
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    handled: successes.size,
    doubled: [...successes.values()].filter(({ length }) => length > 1).length,
    lost: acknowledged.map(({ id }) => id).filter((id) => !successes.has(id)),
    faults,
  }
}

function readLife({ lines, killed }: Life, concurrency: number) {
  const faults: string[] = []
  const begun = new Set<string>()
  const succeeded = new Set<string>()
  const open = new Set<string>()
  const wordsTo: Record<string, (id: string) => void> = {
    begin: (id) => begun.add(id),
    success(id) {
      if (!begun.has(id)) faults.push(`${id} succeeded and never began`)
      if (succeeded.has(id)) faults.push(`${id} was handled twice in one process`)
      succeeded.add(id)
      open.add(id)
      if (open.size > concurrency) faults.push(`${open.size} successes are not recorded at ${id}`)
    },
    settled(id) {
      if (!open.delete(id)) faults.push(`${id} was recorded without a success`)
    },
  }
  for (const line of lines) {
    const [, word = '', id = ''] = /^(begin|success|settled) (\S+)$/.exec(line) ?? []
    const read = wordsTo[word]
    if (read) read(id)
    else faults.push(`no line of a log: ${line}`)
  }
  if (!killed) for (const id of open) faults.push(`${id} is not recorded, and the process ended gracefully`)
  return { faults, succeeded, open }
}
