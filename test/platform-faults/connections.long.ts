import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { type ReceiverProcess, startReceiver } from './receiver-process.ts'

const CONNECTIONS = 10_000
/** Number of connections that are opened at the same time. */
const BATCH = 500
/** Milliseconds for headers, and for a body. Long enough to open all connections on a busy machine. */
const TIMEOUT = 60_000

const NOTHING = ''
const SIGNATURE = '0'.repeat(64)
const UPLOAD = `POST / HTTP/1.1\r\nhost: receiver\r\nx-service: ${SIGNATURE}\r\ncontent-length: 1000\r\n\r\n{"events":`

/** A connection of a slow client. */
interface Slow {
  /** What the receiver has sent. */
  received: string
  isClosed: boolean
}

function openSlow(url: string, text: string): Promise<Slow> {
  const slow: Slow = { received: '', isClosed: false }
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  socket.on('data', (part) => {
    slow.received += part
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    slow.isClosed = true
  })
  onTestFinished(() => void socket.destroy())
  return new Promise((resolve) => {
    socket.once('close', () => resolve(slow)).once('connect', () => socket.write(text, () => resolve(slow)))
  })
}

async function measure({ app, command }: ReceiverProcess): Promise<{ count: number; bytes: number }> {
  const { length } = app.stdout
  command('measure')
  let found: RegExpExecArray | null = null
  await until(() => {
    found = /(\d+) connections, (\d+) bytes\./.exec(app.stdout.slice(length))
    return found !== null
  })
  const [, count, bytes] = found ?? []
  return { count: Number(count), bytes: Number(bytes) }
}

const [, limit] = /Max open files +\d+ +(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
const hasDescriptors = Number(limit) > CONNECTIONS + 1_000 || process.env.CI === 'true'
if (!hasDescriptors) process.stderr.write(`SKIPPED: ${CONNECTIONS} connections need a higher ulimit -n\n`)

describe.skipIf(!hasDescriptors)(`a receiver with ${CONNECTIONS} slow connections`, () => {
  it('accepts deliveries, needs less than 32 KiB for each connection, and closes all of them after the timeouts', async () => {
    const env = {
      OPTIONS: JSON.stringify({ bodyTimeout: TIMEOUT }),
      SERVER: JSON.stringify({ headersTimeout: TIMEOUT, connectionsCheckingInterval: 1_000 }),
    }
    const receiver = await startReceiver({ env })
    const deliver = async () => (await receiver.post(await receiver.open())).status
    expect(await deliver()).toBe(200)
    const before = await measure(receiver)
    const slow: Slow[] = []
    while (slow.length < CONNECTIONS) {
      const text = slow.length < CONNECTIONS / 2 ? NOTHING : UPLOAD
      slow.push(...(await Promise.all(Array.from({ length: BATCH }, () => openSlow(receiver.url, text)))))
    }
    await until(async () => (await measure(receiver)).count >= before.count + CONNECTIONS)
    for (let times = 0; times < 20; times++) expect(await deliver()).toBe(200)
    const during = await measure(receiver)
    expect(during.count).toBeGreaterThanOrEqual(CONNECTIONS)
    expect((during.bytes - before.bytes) / CONNECTIONS).toBeLessThan(32 * 1_024)

    await until(() => slow.every(({ isClosed }) => isClosed), 240_000)
    expect(new Set(slow.map(({ received }) => received.slice(0, 13)))).toEqual(new Set(['HTTP/1.1 408 ']))
    expect(await deliver()).toBe(200)
    expect((await measure(receiver)).count).toBeLessThan(50)
  })
})
