// Runs one server under test: `servers.mjs <function in this file> <checkout of geohook>`. Sends its port when it is
// ready, and replies to each message with the CPU time it has used and the number of events it has handled.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { KEY as key } from '../payloads.mjs'

const [name, root] = process.argv.slice(2)
let handled = 0
const handle = () => {
  handled++
}

const HANDLED = JSON.stringify({ status: 'handled' })
const HEADERS = { 'content-type': 'application/json', 'content-length': HANDLED.length }

const load = (entry) => import(pathToFileURL(join(root, 'dist', `${entry}.js`)).href)

async function receiver() {
  const { createReceiver } = await load('index')
  return createReceiver({ signatureKey: key }).on('*', handle)
}

/** Verifies a signature without a package. */
function isSigned(body, signature) {
  const expected = createHmac('sha256', key).update(body).digest()
  const given = Buffer.from(signature ?? '', 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

const SERVERS = {
  /** Minimal hand-written code: the baseline of all other servers. */
  bare: () =>
    createServer((req, res) => {
      const chunks = []
      req.on('data', (chunk) => chunks.push(chunk))
      req.on('end', () => {
        const body = Buffer.concat(chunks)
        if (!isSigned(body, req.headers['x-service'])) return res.writeHead(401).end()
        for (const event of JSON.parse(body).events) handle(event)
        res.writeHead(200, HEADERS).end(HANDLED)
      })
    }),

  async node() {
    const { webhook } = await load('node')
    return createServer(webhook(await receiver()))
  },

  async nodeRawBody() {
    const { default: getRawBody } = await import('raw-body')
    return createServer(async (req, res) => {
      const body = await getRawBody(req, { length: req.headers['content-length'], limit: '1mb' })
      if (!isSigned(body, req.headers['x-service'])) return res.writeHead(401).end()
      for (const event of JSON.parse(body).events) handle(event)
      res.writeHead(200, HEADERS).end(HANDLED)
    })
  },

  async octokit() {
    const { createNodeMiddleware, Webhooks } = await import('@octokit/webhooks')
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const webhooks = new Webhooks({ secret: key, log })
    webhooks.onAny(({ payload }) => payload.events.forEach(handle))
    return createServer(createNodeMiddleware(webhooks, { path: '/hook', log }))
  },

  async fastify() {
    const { default: fastify } = await import('fastify')
    const { webhook } = await load('fastify')
    const app = fastify()
    app.register(webhook(await receiver()), { prefix: '/hook' })
    await app.ready()
    return app.server
  },

  async fetch() {
    // Users call `serve()` of this package, which also calls `createAdaptorServer`.
    const { createAdaptorServer } = await import('@hono/node-server')
    return createAdaptorServer({ fetch: (await receiver()).fetch })
  },

  async express() {
    const { default: express } = await import('express')
    const { webhook } = await load('express')
    return createServer(express().post('/hook', webhook(await receiver())))
  },

  /** geohook in front of the Express application: it handles the webhook route, and Express handles all others. */
  async ahead() {
    const { default: express } = await import('express')
    const { webhook } = await load('node')
    const [hook, app] = [webhook(await receiver()), express()]
    return createServer((req, res) => (req.url === '/hook' ? hook(req, res) : app(req, res)))
  },

  /** The approach in the Express documentation and most answers on the web. */
  async expressJson() {
    const { default: express } = await import('express')
    const app = express()
    const verify = (req, _res, bytes) => {
      req.rawBody = bytes
    }
    app.post('/hook', express.json({ verify, limit: '1mb' }), (req, res) => {
      if (!isSigned(req.rawBody, req.headers['x-service'])) return res.status(401).end()
      for (const event of req.body.events) handle(event)
      res.json({ status: 'handled' })
    })
    return createServer(app)
  },
}

const server = await SERVERS[name]()
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system, handled })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
