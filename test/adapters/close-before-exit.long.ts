import { expect, it } from 'vitest'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { startNode } from '../helpers/process.ts'

/** Programs that serve `receiver` and print their port. */
const SERVERS = {
  'node:http': `
    import { createServer } from 'node:http'
    import { webhook } from 'geohook/node'
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1', () => console.log('port', server.address().port))`,
  'fetch on the server of Hono': `
    import { serve } from '@hono/node-server'
    serve({ fetch: (request) => receiver.fetch(request), port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log('port', port))`,
  Hono: `
    import { serve } from '@hono/node-server'
    import { Hono } from 'hono'
    import { webhook } from 'geohook/hono'
    const { fetch } = new Hono().post('/', webhook(receiver))
    serve({ fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log('port', port))`,
  h3: `
    import { H3, serve } from 'h3'
    import { webhook } from 'geohook/h3'
    const server = serve(new H3().post('/', webhook(receiver)), { port: 0, hostname: '127.0.0.1', silent: true, gracefulShutdown: false })
    await server.ready()
    console.log('port', server.node.server.address().port)`,
  Koa: `
    import Koa from 'koa'
    import { webhook } from 'geohook/koa'
    const server = new Koa().use(webhook(receiver)).listen(0, '127.0.0.1', () => console.log('port', server.address().port))`,
  Fastify: `
    import fastify from 'fastify'
    import { webhook } from 'geohook/fastify'
    const app = fastify().register(webhook(receiver))
    console.log('port', new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)`,
}

it.concurrent.each(Object.entries(SERVERS))(
  'close() resolves after the response is sent, so that the program can exit without losing it: %s',
  async (_, server) => {
    const program = `
      import { createReceiver } from 'geohook'
      const receiver = createReceiver({ signatureKey: 'k' }).on('*', () => {
        console.log('handling')
        return new Promise((resolve) => process.once('SIGTERM', () => setTimeout(resolve, 20)))
      })
      process.once('SIGTERM', async () => {
        await receiver.close()
        process.exit(0)
      })
      ${server}`
    const app = startNode(['--input-type=module', '--eval', program])
    const [, port] = await app.printed(/port (\d+)/)
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf('{}', 'k') }
    const response = send(`http://127.0.0.1:${port}/`, { headers, body: '{}' })
    await app.printed(/handling/)
    expect(await app.stop()).toBe(0)
    expect((await response).text).toBe('{"status":"handled"}')
  },
)
