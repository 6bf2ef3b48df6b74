/** Body sizes in bytes: `SMALL` is a usual delivery, and `LARGE` does not arrive in the same chunk as the headers. */
export const SMALL = 1024
export const LARGE = 256 * 1024

/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {string} file in `servers/`
 * @property {string} server the function in that file
 * @property {number[]} [goals] body sizes with a goal for this subject, which gets additional rounds at these sizes
 */

/** @type {Record<string, Subject>} */
export const subjects = {
  bare: { name: 'node:http, createHmac, JSON.parse', file: 'node', server: 'bare', goals: [SMALL] },
  node: { name: 'geohook/node', file: 'node', server: 'geohook', goals: [SMALL, LARGE] },
  nodeRawBody: { name: 'node:http, raw-body by hand', file: 'node', server: 'rawBody', goals: [LARGE] },
  octokit: { name: 'octokit on node:http', file: 'node', server: 'octokit' },
  fastify: { name: 'geohook/fastify', file: 'fastify', server: 'geohook', goals: [SMALL, LARGE] },
  fastifyParser: { name: 'Fastify, own parser by hand', file: 'fastify', server: 'parser' },
  fastifyRawBody: { name: 'fastify-raw-body by hand', file: 'fastify', server: 'rawBody', goals: [LARGE] },
  fetch: {
    name: "geohook fetch on Hono's Node server",
    file: 'hono',
    server: 'geohookFetch',
    goals: [SMALL, LARGE],
  },
  fetchByHand: {
    name: "fetch by hand on Hono's Node server",
    file: 'hono',
    server: 'fetchByHand',
    goals: [LARGE],
  },
  hono: { name: 'geohook/hono', file: 'hono', server: 'geohook', goals: [LARGE] },
  honoByHand: { name: 'Hono by hand', file: 'hono', server: 'byHand', goals: [LARGE] },
  koa: { name: 'geohook/koa', file: 'koa', server: 'geohook', goals: [LARGE] },
  koaRawBody: { name: 'Koa, raw-body by hand', file: 'koa', server: 'rawBody', goals: [LARGE] },
  ahead: { name: 'geohook/node ahead of Express', file: 'express', server: 'ahead', goals: [SMALL] },
  express: { name: 'geohook/express', file: 'express', server: 'geohook', goals: [SMALL, LARGE] },
  expressJson: {
    name: 'Express, express.json({ verify })',
    file: 'express',
    server: 'json',
    goals: [SMALL],
  },
  expressOctokit: { name: 'octokit on Express', file: 'express', server: 'octokit' },
  expressRawBody: { name: 'Express, raw-body by hand', file: 'express', server: 'rawBody', goals: [LARGE] },
  expressStripe: { name: 'Express, express.raw, stripe', file: 'express', server: 'stripe' },
  expressTern: { name: 'tern on Express', file: 'express', server: 'tern' },
}

/** The measured packages, without geohook. */
export const packages = [
  '@hono/node-server',
  '@hookflo/tern',
  '@octokit/webhooks',
  'express',
  'fastify',
  'fastify-raw-body',
  'hono',
  'koa',
  'raw-body',
  'stripe',
]
