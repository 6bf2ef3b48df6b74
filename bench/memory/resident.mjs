import { readFileSync, writeFileSync } from 'node:fs'

/**
 * The most memory that this process had at any time from now on. Linux counts it; elsewhere it is looked at once in each
 * turn of the event loop, which misses what comes and goes within one.
 *
 * @returns {{ idle: number, peak(): number }} in bytes, idle after a collection of all garbage
 */
export function watchResident() {
  collect()
  if (process.platform === 'linux') {
    writeFileSync('/proc/self/clear_refs', '5') // the peak begins anew
    return { idle: fromStatus('VmRSS'), peak: () => fromStatus('VmHWM') }
  }
  const idle = process.memoryUsage.rss()
  let peak = idle
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const turn = () => {
    look()
    setImmediate(turn).unref()
  }
  turn()
  return {
    idle,
    peak() {
      look()
      return peak
    },
  }
}

/** Twice: what the first one finalizes is freed by the second. */
export function collect() {
  globalThis.gc()
  globalThis.gc()
}

const fromStatus = (field) =>
  1024 * Number(new RegExp(`${field}:\\s*(\\d+) kB`).exec(readFileSync('/proc/self/status', 'utf8'))[1])
