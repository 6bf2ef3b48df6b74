import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * Starts a server that answers every extraction of a feature service with the same document: at once, or with a job
 * that is already completed.
 *
 * @param {ReadonlyMap<string, { document: Uint8Array, isJob: boolean }>} services by name
 */
export async function startService(services) {
  let extractions = 0
  const server = createServer((req, res) => {
    req.resume()
    const [, name, path] = /^\/rest\/services\/([^/]+)\/FeatureServer\/(\w+)/.exec(req.url) ?? []
    const service = services.get(name)
    if (!service) return res.writeHead(404).end()
    const root = `http://${req.headers.host}/rest/services/${name}/FeatureServer`
    const sendJson = (value) => send(res, Buffer.from(JSON.stringify(value)))
    if (path === 'jobs') return sendJson({ status: 'Completed', resultUrl: `${root}/changefiles/1.json` })
    if (path === 'changefiles') return send(res, service.document)
    extractions += 1
    return service.isJob ? sendJson({ statusUrl: `${root}/jobs/1` }) : send(res, service.document)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  return {
    origin,
    changesUrl: (name, min, max) =>
      `${origin}/rest/services/${name}/FeatureServer/extractChanges?serverGens=%5B${min},${max}%5D`,
    extractions: () => extractions,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function send(res, body) {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}
