// Runs the Lambda function on this machine: turns each HTTP request into the event of a function URL.
import { createServer } from 'node:http'
import { handler } from './index.mjs'

/** Maximum size of a body in bytes, as Lambda has. */
const LIMIT = 6 * 1024 * 1024
const times = { requestTimeout: 10_000, connectionsCheckingInterval: 1_000 }

/** Reads a body. Returns undefined if it is too large. */
async function read(req) {
  const chunks = []
  let length = 0
  if (Number(req.headers['content-length']) > LIMIT) return undefined
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > LIMIT) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const server = createServer(times, async (req, res) => {
  const bytes = await read(req).catch(() => null)
  if (bytes === null) return // the client has disconnected
  if (bytes === undefined) return res.writeHead(413, { connection: 'close' }).end()
  const { pathname, search } = new URL(req.url, 'http://localhost')
  const { statusCode, headers, body } = await handler({
    version: '2.0',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: req.headers,
    requestContext: { http: { method: req.method, path: pathname } },
    body: bytes.toString('base64'),
    isBase64Encoded: true,
  })
  res.writeHead(statusCode, headers).end(body)
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => server.close())
