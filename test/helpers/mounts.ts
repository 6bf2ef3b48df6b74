import express from 'express'
import express4 from 'express4'
import type entries from '../../scripts/entries.json'
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

/** All ways to mount a receiver, each with its entry point. Add a line here for a new adapter. */
export const MOUNTS: Record<string, { entry: keyof typeof entries; mount: Mount }> = {
  'node:http': { entry: 'node', mount: mountNode },
  'Express 5': { entry: 'express', mount: mountExpress(express) },
  'Express 4': { entry: 'express', mount: mountExpress(express4) },
  Connect: { entry: 'express', mount: mountConnect },
  Polka: { entry: 'express', mount: mountPolka },
  NestJS: { entry: 'express', mount: mountNest },
  'Fastify 5': { entry: 'fastify', mount: mountFastify },
  'Koa 3': { entry: 'koa', mount: mountKoa },
  'fetch (Hono server)': { entry: 'index', mount: mountFetch },
  Hono: { entry: 'hono', mount: mountHono },
  h3: { entry: 'h3', mount: mountH3 },
  'Lambda REST API': { entry: 'lambda', mount: mountLambda('REST API') },
  'Lambda HTTP API': { entry: 'lambda', mount: mountLambda('HTTP API') },
  'Lambda function URL': { entry: 'lambda', mount: mountLambda('function URL') },
  'Lambda ALB': { entry: 'lambda', mount: mountLambda('ALB') },
  'Lambda ALB multi-value': { entry: 'lambda', mount: mountLambda('ALB multi-value') },
  'Azure Functions': { entry: 'azure', mount: mountAzure },
  'Azure Functions (streams)': { entry: 'azure', mount: mountAzureStreaming },
  'Google Cloud Functions': { entry: 'node', mount: mountGoogle },
}

/** All mounts where the receiver responds on the sender's own connection. Serverless hosts keep it to themselves. */
export const ON_SOCKETS = Object.entries(MOUNTS).filter(([name]) => !/Lambda|Azure|Google/.test(name))
