// Reads documents in a separate process, and measures the time, or the peak of its memory.
import { watchHeap } from './heap.mjs'
import { READERS } from './read.mjs'

const read = READERS[process.argv[2]]

process.on('message', async ({ url, isMemory }) => {
  const heap = isMemory ? watchHeap() : undefined
  const started = performance.now()
  const edits = await read(url)
  process.send({ edits, seconds: (performance.now() - started) / 1000, peak: heap?.peak() })
})
process.send('ready')
