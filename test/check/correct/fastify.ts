import { isUtf8 } from 'node:buffer'
import { verify } from '@octokit/webhooks-methods'
import fastify from 'fastify'
import { listenFastify } from '../../helpers/mounts/node.ts'
import { createOnce, LIMIT, parse, SERVER_OPTIONS, type StartReceiver } from './receiver.ts'

/** Fastify and `@octokit/webhooks-methods`, which verifies text, with signatures in lower case after `sha256=`. */
export const startFastify: StartReceiver = (key, handle) => {
  const once = createOnce()
  const app = fastify({
    bodyLimit: LIMIT,
    http: SERVER_OPTIONS,
    requestTimeout: SERVER_OPTIONS.requestTimeout,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_req, body, done) => done(null, body))

  app.post<{ Body: Buffer | undefined }>('/hook', async ({ body, headers }, reply) => {
    const signature = `sha256=${headers['x-service']}`.toLowerCase()
    const isVerified =
      body !== undefined &&
      body.length > 0 &&
      isUtf8(body) &&
      /^sha256=[0-9a-f]{64}$/.test(signature) &&
      (await verify(key, body.toString(), signature))
    if (!isVerified) return reply.code(401).send()
    return reply.code(await once(signature, () => handle(parse(body, headers['content-type'])))).send()
  })
  return listenFastify(app)
}
