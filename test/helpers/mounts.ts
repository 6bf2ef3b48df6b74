import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { serve } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import type { Receiver } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as nodeWebhook } from 'geohook/node'

/** A receiver behind a real socket. */
export interface Mounted {
  url: string
  /** The host reads the whole body before it calls the receiver, within its own limits: Lambda, Azure, Google Cloud. */
  hostReadsBody?: boolean
  close(): Promise<void>
}

export interface MountOptions {
  /** Something reads and parses the body before the receiver is called, and does not keep the bytes. */
  bodyIsRead?: boolean
}

export type Mount = (receiver: Receiver, options?: MountOptions) => Promise<Mounted>

export async function listen(listener: RequestListener): Promise<Mounted> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Every way to mount a receiver. A new adapter joins by one line. */
export const MOUNTS: Record<string, Mount> = {
  'node:http': (receiver, { bodyIsRead } = {}) =>
    listen(async (req, res) => {
      if (bodyIsRead) await text(req)
      return nodeWebhook(receiver)(req, res)
    }),
  'Express 5': mountExpress(express),
  'Express 4': mountExpress(express4),
  'fetch (Hono server)': mountFetch,
}

function mountExpress(framework: typeof express): Mount {
  return (receiver, { bodyIsRead } = {}) => {
    const app = framework()
    if (bodyIsRead) app.use(framework.json())
    return listen(app.all('/hook', expressWebhook(receiver)))
  }
}

async function mountFetch(receiver: Receiver, { bodyIsRead }: MountOptions = {}): Promise<Mounted> {
  const server = serve({
    async fetch(request) {
      if (bodyIsRead) await request.json()
      return receiver.fetch(request)
    },
    port: 0,
    hostname: '127.0.0.1',
  })
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async close() {
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
