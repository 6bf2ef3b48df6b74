import type { IncomingMessage, RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { http } from '@google-cloud/functions-framework'
import { getTestServer } from '@google-cloud/functions-framework/testing'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import connect from 'connect'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import type { Receiver } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook as nodeWebhook } from 'geohook/node'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import polka from 'polka'
import { listen, type Mount, type Mounted, type MountOptions, mountServer, urlOf } from './mounted.ts'

export const mountNode: Mount = (receiver, { bodyIsRead } = {}) =>
  listen(async (req, res) => {
    if (bodyIsRead) await text(req)
    return nodeWebhook(receiver)(req, res)
  })

export function mountExpress(framework: typeof express): Mount {
  return (receiver, { bodyIsRead } = {}) => {
    const app = framework()
    if (bodyIsRead) app.use(framework.json())
    return listen(app.all('/hook', expressWebhook(receiver)))
  }
}

export const mountConnect: Mount = (receiver, { bodyIsRead } = {}) => {
  const app = connect()
  if (bodyIsRead) app.use(express.json() as connect.NextHandleFunction)
  return listen(app.use('/hook', expressWebhook(receiver)))
}

export const mountPolka: Mount = (receiver, { bodyIsRead } = {}) => {
  const app = polka()
  if (bodyIsRead) app.use(express.json() as never)
  return listen(app.all('/hook', expressWebhook(receiver)).handler as RequestListener)
}

class App {}
Module({})(App)

export async function mountNest(receiver: Receiver, { bodyIsRead }: MountOptions = {}): Promise<Mounted> {
  const app = await NestFactory.create(App, { logger: false })
  if (bodyIsRead) app.use(express.json())
  app.use('/hook', expressWebhook(receiver))
  await app.init()
  return mountServer(app.getHttpServer())
}

export const mountFastify: Mount = (receiver, { bodyIsRead } = {}) => {
  const app = fastify()
  if (bodyIsRead) app.addHook('onRequest', async ({ raw }) => void (await text(raw)))
  return listenFastify(app.register(fastifyWebhook(receiver), { prefix: '/hook' }))
}

export async function listenFastify(app: FastifyInstance): Promise<Mounted> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    url: urlOf(app.server),
    async close() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

export const mountKoa: Mount = (receiver, { bodyIsRead } = {}) => {
  const app = quiet(new Koa())
  if (bodyIsRead) app.use(bodyParser())
  return listen(app.use(koaWebhook(receiver)).callback())
}

/** Silences Koa, which prints an error for every broken connection. */
export const quiet = (app: Koa): Koa => Object.assign(app, { silent: true })

export async function mountGoogle(receiver: Receiver, { bodyIsRead }: MountOptions = {}): Promise<Mounted> {
  http('hook', (req: IncomingMessage & { rawBody?: unknown }, res) => {
    if (bodyIsRead) delete req.rawBody
    return nodeWebhook(receiver)(req, res)
  })
  return { ...(await mountServer(getTestServer('hook'))), host: { readsBody: true, parsesBody: true } }
}
