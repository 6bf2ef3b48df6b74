/**
 * Goals are ratios of figures from the same run, so that they are comparable between machines. An `id` begins with the
 * name of the part that measures the goal.
 *
 * @typedef {{ id: string, text: string, unit: string, goal: { atMost: number } | { atLeast: number } }} Goal
 */

const TIME = 'time of verify() vs createHmac + timingSafeEqual by hand'
const RATE = 'requests/s, 1 KiB'
const LARGE_RATE = 'requests/s, 256 KiB'
const ACCEPTED = 'accepted/s, 50 concurrent requests, vs a receiver without an inbox'
const PUT = 'puts/s without HTTP, 50 concurrent, vs'
const BARE = 'vs bare node:http + createHmac + JSON.parse'

/** @type {readonly Goal[]} */
export const GOALS = [
  { id: 'verify/256B', text: `${TIME}, 256 B`, unit: '×', goal: { atMost: 0.8 } },
  { id: 'verify/1KiB', text: `${TIME}, 1 KiB`, unit: '×', goal: { atMost: 0.8 } },
  { id: 'verify/16KiB', text: `${TIME}, 16 KiB`, unit: '×', goal: { atMost: 1 } },
  { id: 'verify/256KiB', text: `${TIME}, 256 KiB`, unit: '×', goal: { atMost: 1.03 } },
  { id: 'verify/5MiB', text: `${TIME}, 5 MiB`, unit: '×', goal: { atMost: 1.03 } },
  // 50 ms on a machine that hashes 64 KiB in 40 µs.
  ...['JSON', 'text'].map((kind) => ({
    id: `explain/${kind}/64KiB`,
    text: `time of explain() with a 64 KiB ${kind} body and a wrong signature, vs one HMAC of the body`,
    unit: '×',
    goal: { atMost: 1250 },
  })),
  { id: 'http/node', text: `node:http, ${RATE}, ${BARE}`, unit: '×', goal: { atLeast: 0.97 } },
  { id: 'http/fastify', text: `Fastify, ${RATE}, ${BARE}`, unit: '×', goal: { atLeast: 0.9 } },
  {
    id: 'http/hono',
    text: `fetch on Hono's Node server, ${RATE}, ${BARE}`,
    unit: '×',
    goal: { atLeast: 0.75 },
  },
  {
    id: 'http/express',
    text: `Express 5, ${RATE}, vs Express with express.json({ verify })`,
    unit: '×',
    goal: { atLeast: 1.4 },
  },
  ...['node', 'express', 'koa', 'fastify'].map((name) => ({
    id: `http/256KiB/${name}`,
    text: `${name}, ${LARGE_RATE}, vs the same framework with raw-body by hand`,
    unit: '×',
    goal: { atLeast: 0.9 },
  })),
  ...['fetch', 'hono'].map((name) => ({
    id: `http/256KiB/${name}`,
    text: `${name} on Node, ${LARGE_RATE}, vs the same by hand`,
    unit: '×',
    goal: { atLeast: 0.8 },
  })),
  // The goal is 1.05 instead of 1, because results of identical code vary by a few percent between runs.
  {
    id: 'memory/verdict',
    text: '5 MiB body: time from the last byte to the verdict, vs raw-body by hand that hashes on arrival',
    unit: '×',
    goal: { atMost: 1.05 },
  },
  {
    id: 'memory/uploads',
    text: '16 concurrent uploads of 5 MiB: peak memory over idle, vs raw-body by hand that hashes on arrival',
    unit: '×',
    goal: { atMost: 1.05 },
  },
  {
    id: 'start/geohook',
    text: 'time to import geohook in a new process, vs @octokit/webhooks',
    unit: '×',
    goal: { atMost: 1.05 },
  },
  {
    id: 'mock/deliveries',
    text: 'mock deliveries/s vs bare undici Pool.request',
    unit: '×',
    goal: { atLeast: 0.45 },
  },
  { id: 'inbox/http/sqlite', text: `SQLite: ${ACCEPTED}`, unit: '×', goal: { atLeast: 0.55 } },
  { id: 'inbox/http/postgres', text: `PostgreSQL: ${ACCEPTED}`, unit: '×', goal: { atLeast: 0.3 } },
  { id: 'inbox/http/redis', text: `Redis: ${ACCEPTED}`, unit: '×', goal: { atLeast: 0.35 } },
  { id: 'inbox/put/postgres', text: `PostgreSQL: ${PUT} boss.send`, unit: '×', goal: { atLeast: 3 } },
  { id: 'inbox/put/redis', text: `Redis: ${PUT} Queue.add`, unit: '×', goal: { atLeast: 0.8 } },
  ...['ASCII', 'nonLatin'].map((script) => ({
    id: `changes/memory/${script}`,
    text: `changes.of(), 100,000 edits with ${script === 'ASCII' ? 'ASCII' : 'non-Latin'} text: peak memory vs the size of the document`,
    unit: '×',
    goal: { atMost: 4 },
  })),
  // 0.02 is one call for all 50.
  ...Object.entries({ sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis' }).map(([name, title]) => ({
    id: `changes/coalesced/${name}`,
    text: `${title}: calls of a handler for 50 deliveries within 0.1 s, coalesced vs one by one`,
    unit: '×',
    goal: { atMost: 0.02 },
  })),
]

/** @param {Goal['goal']} goal @param {number} value */
export const isReached = ({ atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }, value) =>
  value <= atMost && value >= atLeast

/** Returns the value of a goal. @param {string} id */
export function goalOf(id) {
  const { goal } = GOALS.find((goal) => goal.id === id)
  return goal.atMost ?? goal.atLeast
}
