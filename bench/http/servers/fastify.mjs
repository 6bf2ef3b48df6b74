import fastify from 'fastify'
import fastifyRawBody from 'fastify-raw-body'
import { webhook } from '../../../dist/fastify.js'
import { createReceiver } from '../../../dist/index.js'
import { isSigned } from './signed.mjs'

export async function geohook({ key, handle }) {
  const app = fastify()
  app.register(webhook(createReceiver({ signatureKey: key }).on('*', handle)), { prefix: '/hook' })
  await app.ready()
  return app.server
}

/** Uses `encoding: false`, because the default converts the body to text, which can differ from the signed bytes. */
export async function rawBody({ key, handle }) {
  const app = fastify()
  await app.register(fastifyRawBody, { encoding: false, runFirst: true })
  app.post('/hook', async (request, reply) => {
    if (!isSigned(request.rawBody, request.headers['x-service'], key)) return reply.code(401).send()
    for (const event of request.body.events) handle(event)
    return { status: 'handled' }
  })
  await app.ready()
  return app.server
}

export async function parser({ key, handle }) {
  const app = fastify()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.post('/hook', async (request, reply) => {
    if (!isSigned(request.body, request.headers['x-service'], key)) return reply.code(401).send()
    for (const event of JSON.parse(request.body).events) handle(event)
    return { status: 'handled' }
  })
  await app.ready()
  return app.server
}
