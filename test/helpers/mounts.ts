import express from 'express'
import express4 from 'express4'
import type { Mount } from './mounts/mounted.ts'
import {
  mountConnect,
  mountExpress,
  mountFastify,
  mountGoogle,
  mountKoa,
  mountNest,
  mountNode,
  mountPolka,
} from './mounts/node.ts'
import { mountFetch } from './mounts/web.ts'

/** Every way to mount a receiver. A new adapter joins by one line. */
export const MOUNTS: Record<string, Mount> = {
  'node:http': mountNode,
  'Express 5': mountExpress(express),
  'Express 4': mountExpress(express4),
  Connect: mountConnect,
  Polka: mountPolka,
  NestJS: mountNest,
  'Fastify 5': mountFastify,
  'Koa 3': mountKoa,
  'fetch (Hono server)': mountFetch,
  'Google Cloud Functions': mountGoogle,
}
