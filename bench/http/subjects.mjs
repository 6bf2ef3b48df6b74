/**
 * @typedef {object} Subject
 * @property {string} name
 * @property {string} file in `servers/`
 * @property {string} server the function in that file
 * @property {true} [goal] a goal depends on it, so it is measured in every round
 */

/** @type {Record<string, Subject>} */
export const subjects = {
  bare: { name: 'node:http, createHmac, JSON.parse', file: 'node', server: 'bare', goal: true },
  node: { name: 'geohook/node', file: 'node', server: 'geohook', goal: true },
  octokit: { name: 'octokit on node:http', file: 'node', server: 'octokit' },
  fastify: { name: 'geohook/fastify', file: 'fastify', server: 'geohook', goal: true },
  fastifyParser: { name: 'Fastify, own parser by hand', file: 'fastify', server: 'parser' },
  fastifyRawBody: { name: 'fastify-raw-body by hand', file: 'fastify', server: 'rawBody' },
  fetch: { name: "geohook fetch on Hono's Node server", file: 'hono', server: 'geohookFetch', goal: true },
  fetchByHand: { name: "fetch by hand on Hono's Node server", file: 'hono', server: 'fetchByHand' },
  hono: { name: 'geohook/hono', file: 'hono', server: 'geohook' },
  honoByHand: { name: 'Hono by hand', file: 'hono', server: 'byHand' },
  koa: { name: 'geohook/koa', file: 'koa', server: 'geohook' },
  koaRawBody: { name: 'Koa, raw-body by hand', file: 'koa', server: 'rawBody' },
  ahead: { name: 'geohook/node ahead of Express', file: 'express', server: 'ahead', goal: true },
  express: { name: 'geohook/express', file: 'express', server: 'geohook', goal: true },
  expressJson: { name: 'Express, express.json({ verify })', file: 'express', server: 'json', goal: true },
  expressOctokit: { name: 'octokit on Express', file: 'express', server: 'octokit' },
  expressRawBody: { name: 'Express, raw-body by hand', file: 'express', server: 'rawBody' },
  expressStripe: { name: 'Express, express.raw, stripe', file: 'express', server: 'stripe' },
  expressTern: { name: 'tern on Express', file: 'express', server: 'tern' },
}

/** The other packages that are measured. */
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
