import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { collect } from '../../../bench/memory/resident.mjs'
import { countTimers } from './timers.mjs'

const FILES = '/proc/self/fd'
/** Milliseconds until a sample is taken although the process is not idle. Longer than any timer of a rejected upload. */
const MAX_WAIT = 10_000

/** Number of resources that keep the process alive, by type, for example `TCPSocketWrap`. */
function countResources() {
  const counts = {}
  for (const type of process.getActiveResourcesInfo()) counts[type] = (counts[type] ?? 0) + 1
  return counts
}

/**
 * Measures this process after a garbage collection. First waits until it is idle: no connection is open, and there are
 * no more timers than at the beginning. A leaked connection or timer only delays the sample.
 *
 * @param {number} timers number of pending timers of the idle process
 */
export async function takeSample(timers) {
  const until = performance.now() + MAX_WAIT
  while ((countResources().TCPSocketWrap ?? 0) > 0 || countTimers() > timers) {
    if (performance.now() > until) break
    await wait(5)
  }
  await wait(20) // lets the callbacks of closed connections run
  collect()
  await wait(1) // lets finalizers run
  collect()
  const { heapUsed, external } = process.memoryUsage()
  const { TCPSocketWrap: sockets = 0, ...handles } = countResources()
  delete handles.Timeout // counted by `countTimers`, with those of `wait`
  return {
    heap: heapUsed + external,
    sockets,
    handles: Object.values(handles).reduce((sum, count) => sum + count, 0),
    timers: countTimers(),
    ...(existsSync(FILES) ? { files: readdirSync(FILES).length } : {}),
    resources: { sockets, ...handles },
  }
}
