import { GCProfiler } from 'node:v8'
import { collect } from '../memory/resident.mjs'

/** Milliseconds between two samples. */
const INTERVAL = 2

/**
 * Tracks the peak of the memory that JavaScript uses: its heap, and the buffers outside of it. Memory grows until it is
 * collected, so the peak is just before a collection, also within `JSON.parse`, or at a sample.
 *
 * @returns {{ peak(): number }} bytes above the memory in use at the start, after a collection
 */
export function watchHeap() {
  collect()
  const baseline = inUse()
  let most = baseline
  const sample = () => {
    most = Math.max(most, inUse())
  }
  const timer = setInterval(sample, INTERVAL)
  const profiler = new GCProfiler()
  profiler.start()
  return {
    peak() {
      sample()
      clearInterval(timer)
      for (const { beforeGC } of profiler.stop().statistics) {
        const { usedHeapSize, externalMemory } = beforeGC.heapStatistics
        most = Math.max(most, usedHeapSize + externalMemory)
      }
      return most - baseline
    },
  }
}

/** `external` includes the memory of array buffers. */
function inUse() {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
