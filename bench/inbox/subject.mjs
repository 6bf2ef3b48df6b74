import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { hasByHand } from './direct-puts.mjs'
import { KEY } from './load.mjs'

const receiver = fileURLToPath(new URL('receiver.mjs', import.meta.url))

/** Starts a receiver in a separate process, and opens keep-alive connections to it. */
export async function startSubject(name, { entry, factory, options, durability, remove }) {
  const env = entry ? { ENTRY: entry, FACTORY: factory, OPTIONS: JSON.stringify(options) } : {}
  const child = fork(receiver, { env: { ...process.env, ...env, KEY } })

  async function ask(question, argument) {
    const ended = new AbortController()
    const answer = Promise.race([
      once(child, 'message', { signal: ended.signal }).then(([message]) => message),
      once(child, 'exit', { signal: ended.signal }).then(([code]) => ({
        error: `the receiver exited with ${code}`,
      })),
    ])
    child.send({ question, argument })
    const { answer: value, error } = await answer.finally(() => ended.abort())
    if (error) throw new Error(`${name}: ${question}: ${error}`)
    return value
  }

  const url = `http://127.0.0.1:${await ask('port')}`
  const pools = new Map()
  return {
    name,
    durability,
    hasInbox: entry !== undefined,
    hasByHand: hasByHand(entry),
    accepted: 0,
    ask,
    connections(count) {
      if (!pools.has(count)) pools.set(count, new Pool(url, { connections: count, pipelining: 1 }))
      return pools.get(count)
    },
    async close() {
      for (const pool of pools.values()) await pool.close()
      const exited = once(child, 'exit')
      await ask('close')
      await exited
      await remove?.()
    },
  }
}
