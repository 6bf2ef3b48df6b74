import { arrived, startClient, startServer } from './processes.mjs'

const SENT = 16

/**
 * Uploads that stop behind a few bytes: what each takes while it waits, how each ends, and what becomes of others
 * meanwhile.
 *
 * @param {{ count: number, size: number, bodyTimeout: number, alone: number }} plan `alone`: milliseconds of the requests
 *   that have the server for themselves
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
      await others.ask({ ...steady, port, milliseconds: alone }) // until it is warm
    }
    const timesAlone = await others.ask({ ...steady, milliseconds: alone })

    const heldByHand = await held(bare, () => stall(bare.ready), count)
    const heldEach = await held(server, () => stall(server.ready), count)
    const timesBeside = await others.ask({ ...steady, milliseconds: bodyTimeout })
    const ends = await client.ask({ task: 'ended' })
    return {
      bytesEach: heldEach,
      bytesEachByHand: heldByHand,
      timedOut: ends.filter(({ status }) => status === 408).length,
      endedAfter: ends.map(({ milliseconds }) => milliseconds),
      timesAlone,
      timesBeside,
    }
  } finally {
    await Promise.all([client, others, server, bare].map((child) => child.close()))
  }
}

/** Bytes that each of the uploads takes. */
async function held(server, stall, count) {
  const idle = await server.ask('watchResident')
  await stall()
  await arrived(server, count * SENT)
  return ((await server.ask('held')) - idle) / count
}
