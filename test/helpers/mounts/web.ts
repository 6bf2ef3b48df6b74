import { serve as serveHono } from '@hono/node-server'
import type { Receiver } from 'geohook'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { H3, serve as serveH3 } from 'h3'
import { Hono } from 'hono'
import type { Mounted } from '../mounts.ts'
import { closing } from './host.ts'

export async function listenHono(app: Hono): Promise<Mounted> {
  return closing(
    serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as import('node:http').Server,
  )
}

export async function listenH3(app: H3): Promise<Mounted> {
  const server = serveH3(app, { port: 0, hostname: '127.0.0.1', silent: true, gracefulShutdown: false })
  await server.ready()
  return closing(server.node?.server as import('node:http').Server)
}

export const mountHono = (receiver: Receiver): Promise<Mounted> =>
  listenHono(new Hono().all('/hook', honoWebhook(receiver)))

export const mountH3 = (receiver: Receiver): Promise<Mounted> =>
  listenH3(new H3({ silent: true }).all('/hook', h3Webhook(receiver)))
