import express from 'express'
import express4 from 'express4'
import { mountAzure, mountAzureStreaming } from './mounts/azure.ts'
import { mountLambda } from './mounts/lambda.ts'
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
import { mountFetch, mountH3, mountHono } from './mounts/web.ts'

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
  Hono: mountHono,
  h3: mountH3,
  'Lambda REST API': mountLambda('REST API'),
  'Lambda HTTP API': mountLambda('HTTP API'),
  'Lambda function URL': mountLambda('function URL'),
  'Lambda ALB': mountLambda('ALB'),
  'Lambda ALB multi-value': mountLambda('ALB multi-value'),
  'Azure Functions': mountAzure,
  'Azure Functions (streams)': mountAzureStreaming,
  'Google Cloud Functions': mountGoogle,
}
