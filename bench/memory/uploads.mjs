import { interleave } from '../lib/rounds.mjs'
import { arrived, startClient, startServer } from './processes.mjs'

const WARMUP = { size: 1024, count: 200 }

/**
 * Measures the peak memory of simultaneous uploads, minus the idle memory, per upload and as a multiple of the body
 * size. All uploads wait for their last byte at the same time. Each figure is from a new, warmed-up process, and
 * includes parsing.
 *
 * @param {readonly string[]} listeners
 * @param {{ count: number, size: number, limit?: number, rounds: number }} plan
 * @returns {Promise<Map<string, number[]>>}
 */
export async function measureUploads(listeners, { count, size, limit, rounds }) {
  const client = await startClient()
  async function measure(name) {
    const server = await startServer(name, { limit })
    try {
      const port = server.ready
      requireAll(await client.ask({ task: 'upload', port, ...WARMUP }), WARMUP.count)
      const idle = await server.ask('watchResident')
      await client.ask({ task: 'begin', port, size, count })
      await arrived(server, count * (size - 1))
      requireAll(await client.ask({ task: 'finish' }), count)
      const handled = await server.ask('handled')
      if (handled !== count) throw new Error(`${name} handled ${handled} of ${count}`)
      return ((await server.ask('peak')) - idle) / count / size
    } finally {
      await server.close()
    }
  }
  try {
    return await interleave(listeners, { rounds, seconds: 12, warmup: 0, measure })
  } finally {
    await client.close()
  }
}

function requireAll(statuses, count) {
  const good = statuses.filter((status) => status === 200).length
  if (good !== count) throw new Error(`${good} of ${count} uploads returned 200`)
}
