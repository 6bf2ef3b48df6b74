import { interleave } from '../lib/rounds.mjs'
import { startClient, startServer } from './processes.mjs'

/** Requests that are rejected before the body is parsed: `wrong` for its signature, `right` for its content type. */
const requests = {
  wrong: {
    changes: { 'x-service': '0'.repeat(64), 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
    status: 401,
  },
  right: { changes: { 'content-type': 'text/plain' }, status: 415 },
}

/**
 * Measures the milliseconds from the last byte of a body to the verdict, and the longest event loop tick of the upload.
 *
 * @param {readonly string[]} listeners
 * @param {{ size: number, limit: number, rounds: number, tickRounds: number, warmup: number }} plan
 * @returns {Promise<Map<string, { wrong: number[], right: number[], tick: number[] }>>}
 */
export async function measureVerdict(listeners, { size, limit, rounds, tickRounds, warmup }) {
  const [client, ...running] = await Promise.all([
    startClient(),
    ...listeners.map((name) => startServer(name, { limit })),
  ])
  const servers = new Map(listeners.map((name, index) => [name, running[index]]))
  try {
    const upload = async (name, { changes, status }) => {
      const statuses = await client.ask({ task: 'upload', port: servers.get(name).ready, size, changes })
      if (statuses[0] !== status) throw new Error(`${name} returns ${statuses[0]}, not ${status}`)
    }
    const verdict = async (name, request) => {
      await upload(name, request)
      const milliseconds = await servers.get(name).ask('verdict')
      if (milliseconds < 0) throw new Error(`${name} decided before the last byte arrived`)
      return milliseconds
    }
    // Ticks are measured in separate uploads, because measuring keeps the event loop busy and changes chunk sizes.
    const tick = async (name) => {
      await servers.get(name).ask('startTicks')
      await upload(name, requests.right)
      return servers.get(name).ask('endTicks')
    }

    const wrong = await interleave(listeners, {
      rounds,
      seconds: 6,
      warmup,
      measure: (name) => verdict(name, requests.wrong),
    })
    const right = await interleave(listeners, {
      rounds,
      seconds: 6,
      warmup,
      measure: (name) => verdict(name, requests.right),
    })
    const ticks = await interleave(listeners, { rounds: tickRounds, seconds: 4, measure: tick })
    return new Map(
      listeners.map((name) => [
        name,
        { wrong: wrong.get(name), right: right.get(name), tick: ticks.get(name) },
      ]),
    )
  } finally {
    await Promise.all([client, ...running].map((child) => child.close()))
  }
}

/** The times of uploads with valid and invalid signatures. */
export const timesOf = ({ wrong, right }) => [...wrong, ...right]
