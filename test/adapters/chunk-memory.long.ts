import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createReceiver, type ReceiverOptions } from 'geohook'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { createGate } from '../helpers/gate.ts'
import { MOUNTS } from '../helpers/mounts.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const body = JSON.stringify({ events: [{ eventType: 'FeaturesCreated' }], padding: '1'.repeat(30_000) })
const CHUNKS = Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')
const END = '0\r\n\r\n'
/** Bytes of memory. Node needs some 6 MB to keep these chunks one by one. */
const MAXIMUM = 2_000_000

async function measure(): Promise<number> {
  gc()
  await setImmediate()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe.each(['node:http', 'Hono', 'h3'])('a body in chunks of one byte, on %s', (name) => {
  async function start(options: Partial<ReceiverOptions>, signature: string, line = 'POST /hook') {
    const receiver = createReceiver({
      signatureKey: KEY,
      observer: { refused() {} },
      bodyTimeout: 600_000, // a busy machine needs long for this body
      ...options,
    }).on('*', () => {})
    const mounted = await (MOUNTS[name] as (typeof MOUNTS)[string]).mount(receiver)
    let served: Socket | undefined
    const onSocket = (message: unknown): void => {
      served = (message as { socket: Socket }).socket
    }
    subscribe('net.server.socket', onSocket)
    const { hostname, port } = new URL(mounted.url)
    const socket = connect(Number(port), hostname).on('error', () => {}) // a reset ends the refused upload
    onTestFinished(async () => {
      unsubscribe('net.server.socket', onSocket)
      socket.destroy()
      await mounted.close()
    })
    const head = `${line} HTTP/1.1\r\nhost: a\r\ncontent-type: ${JSON_TYPE}\r\nx-service: ${signature}\r\n`
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
    return {
      socket,
      /** Writes text, and waits until the server has read it, or reads no more. */
      async write(text: string): Promise<void> {
        socket.write(text)
        for (let quiet = 0, before = -1; quiet < 20; quiet++) {
          await setImmediate()
          if (served?.bytesRead === socket.bytesWritten) return
          if (served?.bytesRead !== before) quiet = 0
          before = served?.bytesRead ?? -1
        }
      },
      async status(): Promise<string> {
        const [response] = await once(socket, 'data')
        return String(response).slice(0, 12)
      },
    }
  }

  it('takes little more memory than its bytes, and is accepted', async () => {
    const { write, status } = await start({}, signatureOf(body))
    const before = await measure()
    await write(CHUNKS)
    expect((await measure()) - before).toBeLessThan(MAXIMUM)
    await write(END)
    expect(await status()).toBe('HTTP/1.1 200')
  })

  it('takes little memory during a slow key function, and is accepted', async () => {
    const { gate, release } = createGate()
    const { write, status } = await start({ signatureKey: () => gate.then(() => KEY) }, signatureOf(body))
    const before = await measure()
    await write(CHUNKS)
    expect((await measure()) - before).toBeLessThan(MAXIMUM)
    await write(END)
    release()
    expect(await status()).toBe('HTTP/1.1 200')
  })

  it('takes little memory while the key of a handshake is looked up', async () => {
    const { gate, release } = createGate()
    const options: Partial<ReceiverOptions> = { profile: 'arcgis', signatureKey: () => gate.then(() => KEY) }
    const { write, status } = await start(options, 'none', 'GET /hook?crc_token=a')
    const before = await measure()
    await write(CHUNKS)
    expect((await measure()) - before).toBeLessThan(MAXIMUM)
    release()
    expect(await status()).toBe('HTTP/1.1 200')
  })

  it('takes little memory after it is refused and exceeds the number of bytes to discard', async () => {
    const { write, status } = await start({}, 'oops')
    expect(await status()).toBe('HTTP/1.1 401')
    await write(`100000\r\n${'1'.repeat(2 ** 20)}\r\n`)
    const before = await measure()
    await write(CHUNKS)
    expect((await measure()) - before).toBeLessThan(MAXIMUM)
  })
})
