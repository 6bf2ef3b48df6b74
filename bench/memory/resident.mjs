import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Tracks the peak memory of this process from now on. On Linux, the kernel records it. On other systems, it is sampled
 * once per event loop tick, so peaks within a tick are missed.
 *
 * @returns {{ idle: number, peak(): number }} in bytes; `idle` is measured after a garbage collection
 */
export function watchResident() {
  collect()
  if (process.platform === 'linux') {
    writeFileSync('/proc/self/clear_refs', '5') // resets the peak
    return { idle: fromStatus('VmRSS'), peak: () => fromStatus('VmHWM') }
  }
  const idle = process.memoryUsage.rss()
  let peak = idle
  const sample = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const tick = () => {
    sample()
    setImmediate(tick).unref()
  }
  tick()
  return {
    idle,
    peak() {
      sample()
      return peak
    },
  }
}

/** Collects garbage twice, because the second run frees objects that the first run finalizes. */
export function collect() {
  globalThis.gc()
  globalThis.gc()
}

const fromStatus = (field) =>
  1024 * Number(new RegExp(`${field}:\\s*(\\d+) kB`).exec(readFileSync('/proc/self/status', 'utf8'))[1])
