import { connect as connectNats } from '@nats-io/transport-node'
import amqp from 'amqplib'
import { Redis } from 'ioredis'
import pg from 'pg'

/** A shared server that must be running before the tests. */
export interface Server {
  name: 'PostgreSQL' | 'Redis' | 'RabbitMQ' | 'NATS'
  url: string
  variable: string
  howToStart: string
  /** Connects to the server. Rejects if the server is unreachable or rejects the client. */
  reach(url: string): Promise<void>
}

export const POSTGRES: Server = {
  name: 'PostgreSQL',
  url: process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  variable: 'DATABASE_URL',
  howToStart: 'docker run -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres',
  async reach(connectionString) {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 3_000 })
    try {
      await client.connect()
      await client.query('select 1')
    } finally {
      await client.end().catch(() => {})
    }
  },
}

export const REDIS: Server = {
  name: 'Redis',
  url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
  variable: 'REDIS_URL',
  howToStart: 'redis-server --appendonly yes',
  async reach(url) {
    const client = new Redis(url, { lazyConnect: true, connectTimeout: 3_000, retryStrategy: () => null })
    let cause: Error | undefined
    client.on('error', (error) => {
      cause ??= error
    })
    try {
      await client.connect()
      await client.ping()
    } catch (error) {
      // The rejection only says that the connection is closed; the `error` event has the reason.
      throw cause ?? error
    } finally {
      client.disconnect()
    }
  },
}

export const RABBITMQ: Server = {
  name: 'RabbitMQ',
  url: process.env.AMQP_URL ?? 'amqp://127.0.0.1:5672',
  variable: 'AMQP_URL',
  howToStart: 'docker run -p 5672:5672 rabbitmq',
  async reach(url) {
    const connection = await amqp.connect(url, { timeout: 3_000 })
    await connection.close()
  },
}

export const NATS: Server = {
  name: 'NATS',
  url: process.env.NATS_URL ?? 'nats://127.0.0.1:4222',
  variable: 'NATS_URL',
  howToStart: 'nats-server --jetstream',
  async reach(servers) {
    try {
      await (await connectNats({ servers, timeout: 3_000, reconnect: false })).close()
    } catch (error) {
      throw (error as Error).cause ?? error // the cause has the code of the system
    }
  },
}

/** Matches error codes for an unreachable server. If a server rejects the client, the error has another code. */
const UNREACHABLE = /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET|ENOENT)/

/**
 * Returns one line that says why tests cannot use a server and how to fix it, or undefined if they can use it.
 *
 * @param url address of the server; the result never contains its password
 */
export async function whyMissing(
  { name, variable, howToStart, reach }: Server,
  url: string,
): Promise<string | undefined> {
  try {
    await reach(url)
    return undefined
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (UNREACHABLE.test(code)) return `no ${name} (${code}). Start one (${howToStart}) or set ${variable}.`
    const said = withoutPassword(message, url).replace(/\s+/g, ' ').trim()
    return `${name} cannot be used: ${said}. Look at it, or set ${variable}.`
  }
}

function withoutPassword(text: string, url: string): string {
  const password = URL.canParse(url) ? new URL(url).password : ''
  const secrets = [url, password, decoded(password)].filter(Boolean)
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
