import { interleave, summarize } from '../lib/rounds.mjs'
import { startClient, startServer } from './processes.mjs'

/** Both are known for what they are as soon as the signature is checked: nothing is parsed before. */
const requests = {
  wrong: {
    changes: { 'x-service': '0'.repeat(64), 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
    status: 401,
  },
  right: { changes: { 'content-type': 'text/plain' }, status: 415 },
}

/**
 * Milliseconds from the last byte of a body to the verdict on its signature, and of the longest turn of the event loop
 * while it is uploaded.
 *
 * @param {readonly string[]} listeners
 * @param {{ size: number, limit: number, rounds: number, turnRounds: number, warmup: number }} plan
 * @returns {Promise<Map<string, { wrong: number[], right: number[], turn: number[] }>>}
 */
export async function measureVerdict(listeners, { size, limit, rounds, turnRounds, warmup }) {
  const [client, ...running] = await Promise.all([
    startClient(),
    ...listeners.map((name) => startServer(name, { limit })),
  ])
  const servers = new Map(listeners.map((name, index) => [name, running[index]]))
  try {
    const upload = async (name, { changes, status }) => {
      const answered = await client.ask({ task: 'upload', port: servers.get(name).ready, size, changes })
      if (answered[0] !== status) throw new Error(`${name} answers ${answered[0]}, not ${status}`)
    }
    const verdict = async (name, request) => {
      await upload(name, request)
      const milliseconds = await servers.get(name).ask('verdict')
      if (milliseconds < 0) throw new Error(`${name} has decided before the last byte came`)
      return milliseconds
    }
    // Not in the same uploads: what keeps the loop turning has it read in other pieces.
    const turn = async (name) => {
      await servers.get(name).ask('beginTurns')
      await upload(name, requests.right)
      return servers.get(name).ask('endTurns')
    }

    const wrong = await interleave(listeners, {
      rounds,
      warmup,
      measure: (name) => verdict(name, requests.wrong),
    })
    const right = await interleave(listeners, {
      rounds,
      warmup,
      measure: (name) => verdict(name, requests.right),
    })
    const turns = await interleave(listeners, { rounds: turnRounds, measure: turn })
    return new Map(
      listeners.map((name) => [
        name,
        { wrong: wrong.get(name), right: right.get(name), turn: turns.get(name) },
      ]),
    )
  } finally {
    await Promise.all([client, ...running].map((child) => child.close()))
  }
}

/** Of uploads with right and with wrong signatures. */
export const summarizeVerdict = ({ wrong, right }) => summarize([...wrong, ...right])
