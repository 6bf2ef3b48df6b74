import type { Server, ServerOptions } from 'node:http'
import { serve as serveHono } from '@hono/node-server'
import { webhook as h3Webhook } from 'geohook/h3'
import { webhook as honoWebhook } from 'geohook/hono'
import { H3, serve as serveH3 } from 'h3'
import { Hono } from 'hono'
import { type Mount, type Mounted, mountServer } from './mounted.ts'

const CLASSES = { Request, Response }

async function listenFetch(
  fetch: (request: Request, env: unknown) => Response | Promise<Response>,
  serverOptions: ServerOptions = {},
): Promise<Mounted> {
  const mounted = await mountServer(
    serveHono({ fetch, port: 0, hostname: '127.0.0.1', serverOptions }) as Server,
  )
  return {
    ...mounted,
    async close() {
      await mounted.close()
      // Restores the global classes that Hono's server replaced. Otherwise h3 would respond to every error with 200.
      for (const [name, value] of Object.entries(CLASSES)) Object.defineProperty(globalThis, name, { value })
    },
  }
}

export const mountFetch: Mount = (receiver, { bodyIsRead } = {}) =>
  listenFetch(async (request, env) => {
    if (bodyIsRead) await request.text()
    return receiver.fetch(request, env)
  })

export const listenHono = (app: Hono, serverOptions?: ServerOptions): Promise<Mounted> =>
  listenFetch(app.fetch as (request: Request) => Promise<Response>, serverOptions)

export const mountHono: Mount = (receiver, { bodyIsRead } = {}) => {
  const app = new Hono()
  if (bodyIsRead) {
    app.use(async (c, next) => {
      await c.req.json()
      await next()
    })
  }
  return listenHono(app.all('/hook', honoWebhook(receiver)))
}

export async function listenH3(app: H3): Promise<Mounted> {
  const server = serveH3(app, { port: 0, hostname: '127.0.0.1', silent: true, gracefulShutdown: false })
  await server.ready()
  return mountServer(server.node?.server as Server)
}

export const mountH3: Mount = (receiver, { bodyIsRead } = {}) => {
  const app = new H3({ silent: true })
  if (bodyIsRead) app.use(async ({ req }) => void (await req.json()))
  return listenH3(app.all('/hook', h3Webhook(receiver)))
}
