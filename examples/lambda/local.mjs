// Runs the Lambda function on this machine: turns each HTTP request into the event of a function URL.
import { createServer } from 'node:http'
import { handler } from './index.mjs'

const server = createServer(async (req, res) => {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  const { pathname, search } = new URL(req.url, 'http://localhost')
  const { statusCode, headers, body } = await handler({
    version: '2.0',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: req.headers,
    requestContext: { http: { method: req.method, path: pathname } },
    body: Buffer.concat(chunks).toString('base64'),
    isBase64Encoded: true,
  })
  res.writeHead(statusCode, headers).end(body)
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/hooks/parcels`)
})

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => server.close())
