// Reads documents in a separate process, and measures the time, or the peak of its memory: `reader.mjs <reader>`.
import { GCProfiler } from 'node:v8'
import { createChanges } from 'geohook/changes'
import { collect } from '../memory/resident.mjs'

/** Counts the edits of layers, as a handler would traverse them. */
function count(adds, updates, deletes) {
  let edits = deletes.length
  for (const list of [adds, updates])
    for (const { attributes } of list) if (attributes.OBJECTID > 0) edits += 1
  return edits
}

/** Functions that extract the changes behind a URL, and return the number of edits. */
const READERS = {
  async geohook(url) {
    // The job is completed at its first poll, so a longer interval would only add a pause.
    const changes = createChanges({ origins: [new URL(url).origin], pollInterval: { min: 1, max: 1 } })
    const { layers } = await changes.of({ changeType: 'FeaturesEdited', changesUrl: url })
    return layers.reduce((sum, { adds, updates, deletes }) => sum + count(adds, updates, deletes.ids), 0)
  },

  async 'by hand'(url) {
    const job = await fetch(url, { method: 'POST', body: new URLSearchParams({ f: 'json' }) })
    const status = await fetch((await job.json()).statusUrl)
    const file = await fetch((await status.json()).resultUrl)
    const { edits } = JSON.parse(await file.text())
    const countLayer = ({ features: { adds, updates, deleteIds } }) => count(adds, updates, deleteIds)
    return edits.reduce((sum, layer) => sum + countLayer(layer), 0)
  },
}

/** `external` includes the memory of array buffers. */
function inUse() {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Tracks the peak of the memory that JavaScript uses: its heap, and the buffers outside of it. Memory grows until it is
 * collected, so the peak is just before a collection, also within `JSON.parse`, or at a sample.
 *
 * @returns a function that returns the bytes above the memory in use at the start, after a collection
 */
function watchHeap() {
  collect()
  const baseline = inUse()
  let most = baseline
  const sample = () => {
    most = Math.max(most, inUse())
  }
  const timer = setInterval(sample, 2)
  const profiler = new GCProfiler()
  profiler.start()
  return () => {
    sample()
    clearInterval(timer)
    for (const { beforeGC } of profiler.stop().statistics) {
      const { usedHeapSize, externalMemory } = beforeGC.heapStatistics
      most = Math.max(most, usedHeapSize + externalMemory)
    }
    return most - baseline
  }
}

const read = READERS[process.argv[2]]
process.on('message', async ({ url, isMemory }) => {
  const peak = isMemory ? watchHeap() : undefined
  const started = performance.now()
  const edits = await read(url)
  process.send({ edits, seconds: (performance.now() - started) / 1000, peak: peak?.() })
})
process.send('ready')
