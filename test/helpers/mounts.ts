import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import express4 from 'express4'
import type { Receiver } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as nodeWebhook } from 'geohook/node'
import { SERVERLESS_AND_WEB } from './mounts/index.ts'

/** A receiver behind a real socket. */
export interface Mounted {
  url: string
  /** The host reads the whole body before it calls the receiver, within its own limits: Lambda, Azure, Google Cloud. */
  hostReadsBody?: boolean
  close(): Promise<void>
}

export type Mount = (receiver: Receiver) => Promise<Mounted>

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
  'node:http': (receiver) => listen(nodeWebhook(receiver)),
  'Express 5': (receiver) => listen(express().all('/hook', expressWebhook(receiver))),
  'Express 4': (receiver) => listen(express4().all('/hook', expressWebhook(receiver))),
  'fetch (Hono server)': mountFetch,
  ...SERVERLESS_AND_WEB,
}

async function mountFetch(receiver: Receiver): Promise<Mounted> {
  const server = serve({ fetch: (request) => receiver.fetch(request), port: 0, hostname: '127.0.0.1' })
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
