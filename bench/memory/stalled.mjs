import { arrived, startClient, startServer } from './processes.mjs'

const SENT = 16

/**
 * Measures uploads that stall after their first bytes: their memory, how they end, and their effect on other requests.
 *
 * @param {{ count: number, size: number, bodyTimeout: number, alone: number }} plan `alone`: milliseconds to measure
 *   requests without stalled uploads
 */
export async function measureStalled({ count, size, bodyTimeout, alone }) {
  const [client, others, server, bare] = await Promise.all([
    startClient(),
    startClient(),
    startServer('geohook', { bodyTimeout }),
    startServer('byHand'),
  ])
  const steady = { task: 'steady', port: server.ready, size: 1024, connections: 4, pause: 3 }
  const stall = (port) => client.ask({ task: 'stall', port, size, count, sent: SENT })
  try {
    for (const { ready: port } of [bare, server]) {
      await others.ask({ ...steady, port, milliseconds: alone }) // warm-up
    }
    const timesAlone = await others.ask({ ...steady, milliseconds: alone })

    const heldByHand = await memoryEach(bare, () => stall(bare.ready), count)
    const heldEach = await memoryEach(server, () => stall(server.ready), count)
    const timesMeanwhile = await others.ask({ ...steady, milliseconds: bodyTimeout })
    const ends = await client.ask({ task: 'ended' })
    return {
      bytesEach: heldEach,
      bytesEachByHand: heldByHand,
      timedOut: ends.filter(({ status }) => status === 408).length,
      endedAfter: ends.map(({ milliseconds }) => milliseconds),
      timesAlone,
      timesMeanwhile,
    }
  } finally {
    await Promise.all([client, others, server, bare].map((child) => child.close()))
  }
}

/** Returns the bytes of memory per stalled upload. */
async function memoryEach(server, stall, count) {
  const idle = await server.ask('watchResident')
  await stall()
  await arrived(server, count * SENT)
  return ((await server.ask('held')) - idle) / count
}
