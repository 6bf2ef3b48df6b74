import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { startTarget, type Target } from './target.ts'

/** Starts a target, passes it to a test, and closes it. Responses cycle through `statuses`. */
export async function withTarget(
  use: (target: Target) => Promise<void>,
  { statuses = [200], body = '' }: { statuses?: number[]; body?: string } = {},
): Promise<void> {
  let count = 0
  const target = await startTarget((res) =>
    res.writeHead(statuses[count++ % statuses.length] as number).end(body),
  )
  try {
    await use(target)
  } finally {
    await target.close()
  }
}

/** A server that does not respond to requests until `release` is called. */
export interface HeldTarget {
  url: string
  /** Resolves when `count` requests have arrived. */
  arrived(count: number): Promise<void>
  /** Responds to all pending requests. */
  release(): void
  close(): Promise<void>
}

export async function startHeldTarget(body = ''): Promise<HeldTarget> {
  const held: (() => void)[] = []
  let notify = (): void => {}
  const target = await startTarget((res) => {
    held.push(() => res.end(body))
    notify()
  })
  return {
    url: target.url,
    async arrived(count) {
      while (held.length < count) {
        await new Promise<void>((resolve) => {
          notify = resolve
        })
      }
    },
    release() {
      for (const respond of held.splice(0)) respond()
    },
    close: target.close,
  }
}

/** Starts a TCP server that responds to any data with `answer` and disconnects. Without `answer`, it never responds. */
export async function startRawServer(
  answer?: string | Buffer,
): Promise<{ host: string; url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('data', () => answer && socket.end(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    url: `http://${host}`,
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
