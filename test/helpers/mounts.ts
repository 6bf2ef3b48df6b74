import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { http } from '@google-cloud/functions-framework'
import { getTestServer } from '@google-cloud/functions-framework/testing'
import { serve } from '@hono/node-server'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import connect from 'connect'
import express from 'express'
import express4 from 'express4'
import fastify, { type FastifyInstance } from 'fastify'
import type { Receiver } from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { webhook as fastifyWebhook } from 'geohook/fastify'
import { webhook as koaWebhook } from 'geohook/koa'
import { webhook as nodeWebhook } from 'geohook/node'
import Koa from 'koa'
import polka from 'polka'

/** A receiver behind a real socket. */
export interface Mounted {
  url: string
  /** The host reads the whole body before it calls the receiver, within its own limits: Lambda, Azure, Google Cloud. */
  hostReadsBody?: boolean
  close(): Promise<void>
}

export type Mount = (receiver: Receiver) => Promise<Mounted>

export const listen = (listener: RequestListener): Promise<Mounted> => mountServer(createServer(listener))

/** Every way to mount a receiver. A new adapter joins by one line. */
export const MOUNTS: Record<string, Mount> = {
  'node:http': (receiver) => listen(nodeWebhook(receiver)),
  'Express 5': (receiver) => listen(express().all('/hook', expressWebhook(receiver))),
  'Express 4': (receiver) => listen(express4().all('/hook', expressWebhook(receiver))),
  Connect: (receiver) => listen(connect().use('/hook', expressWebhook(receiver))),
  Polka: (receiver) => listen(polka().all('/hook', expressWebhook(receiver)).handler as RequestListener),
  NestJS: mountNest,
  'Fastify 5': (receiver) => mountFastify(fastify().register(fastifyWebhook(receiver), { prefix: '/hook' })),
  'Koa 3': (receiver) => listen(quiet(new Koa()).use(koaWebhook(receiver)).callback()),
  'fetch (Hono server)': (receiver) =>
    mountServer(
      serve({ fetch: (request) => receiver.fetch(request), port: 0, hostname: '127.0.0.1' }) as Server,
    ),
  'Google Cloud Functions': mountFunction,
}

/** Koa prints what a broken connection costs it. */
export const quiet = (app: Koa): Koa => Object.assign(app, { silent: true })

async function mountServer(server: Server): Promise<Mounted> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: urlOf(server),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`

export async function mountFastify(app: FastifyInstance): Promise<Mounted> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    url: urlOf(app.server),
    async close() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

class App {}
Module({})(App)

async function mountNest(receiver: Receiver): Promise<Mounted> {
  const app = await NestFactory.create(App, { logger: false })
  app.use('/hook', expressWebhook(receiver))
  await app.init()
  return mountServer(app.getHttpServer())
}

async function mountFunction(receiver: Receiver): Promise<Mounted> {
  http('hook', nodeWebhook(receiver))
  return { ...(await mountServer(getTestServer('hook'))), hostReadsBody: true }
}
