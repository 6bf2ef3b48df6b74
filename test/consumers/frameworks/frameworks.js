import { createServer } from 'node:http'

/** For each entry point: a function that mounts a webhook in a framework, and returns a server or a fetch function. */
export const frameworks = {
  'geohook/node': (webhook) => createServer(webhook),
  async 'geohook/express'(webhook) {
    const { default: express } = await import('express')
    return createServer(express().post('/hook', webhook))
  },
  async 'geohook/fastify'(webhook) {
    const { default: fastify } = await import('fastify')
    const app = fastify().register(webhook, { prefix: '/hook' })
    await app.ready()
    return createServer(app.routing)
  },
  async 'geohook/koa'(webhook) {
    const { default: Koa } = await import('koa')
    return createServer(new Koa().use(webhook).callback())
  },
  async 'geohook/hono'(webhook) {
    const { Hono } = await import('hono')
    return new Hono().post('/hook', webhook).fetch
  },
  async 'geohook/h3'(webhook) {
    const { H3 } = await import('h3')
    return new H3().post('/hook', webhook).fetch
  },
  async 'geohook/azure'(webhook) {
    const { default: functions } = await import('@azure/functions')
    return async (request) => {
      const body = { bytes: new Uint8Array(await request.arrayBuffer()) }
      const { method, url, headers } = request
      return webhook(new functions.HttpRequest({ method, url, headers: Object.fromEntries(headers), body }))
    }
  },
  'geohook/lambda': (webhook) => async (request) => {
    const { statusCode } = await webhook({
      version: '2.0',
      rawPath: '/hook',
      rawQueryString: '',
      headers: Object.fromEntries(request.headers),
      requestContext: { http: { method: request.method } },
      body: await request.text(),
      isBase64Encoded: false,
    })
    return { status: statusCode }
  },
}
