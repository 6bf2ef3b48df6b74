import { Agent, request } from 'node:http'
import { signatureOf } from './deliver.ts'

const CONNECTIONS = 8

/** A load generator. It sends deliveries over keep-alive connections until the server refuses new connections. */
export interface Load {
  /** Resolves when `count` requests have finished, with a response or an error. */
  answered(count: number): Promise<void>
  /** Resolves once the server refuses connections. The value lists the status or error of each earlier request. */
  ended: Promise<(number | string)[]>
}

export function startLoad(url: string, key: string): Load {
  const results: (number | string)[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let number = 0

  function send(agent: Agent): Promise<number | string> {
    const body = JSON.stringify({
      serviceName: 'Parcels',
      events: [{ eventType: 'FeaturesCreated', when: ++number }],
    })
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'x-service': signatureOf(body, key),
    }
    return new Promise((resolve) => {
      const req = request(url, { method: 'POST', agent, headers })
      req.on('response', (res) => {
        res.on('error', (error) => resolve(`${error} in a response`))
        res.on('end', () => resolve(res.statusCode ?? 0)).resume()
      })
      req.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? String(error)))
      req.end(body)
    })
  }

  async function keepSending(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (;;) {
      const result = await send(agent)
      if (result === 'ECONNREFUSED') break
      results.push(result)
      for (const { count, resolve } of waiting) if (results.length >= count) resolve()
    }
    agent.destroy()
  }

  const ended = Promise.all(Array.from({ length: CONNECTIONS }, keepSending)).then(() => results)
  return { answered: (count) => new Promise((resolve) => waiting.push({ count, resolve })), ended }
}
