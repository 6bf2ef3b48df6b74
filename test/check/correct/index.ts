import { startExpress } from './express.ts'
import { startFastify } from './fastify.ts'
import { startHono } from './hono.ts'
import { startKoa } from './koa.ts'
import type { StartReceiver } from './receiver.ts'

/** Correct receivers, as people write them with common libraries. */
export const CORRECT: Readonly<Record<string, StartReceiver>> = {
  'Express, raw-body and node:crypto': startExpress,
  'Fastify and @octokit/webhooks-methods': startFastify,
  'Hono and WebCrypto': startHono,
  'Koa, raw-body and @noble/hashes': startKoa,
}
