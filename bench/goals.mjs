import { digits } from './report.mjs'

/**
 * Goals are ratios of figures from the same run, so that they are comparable between machines. An `id` begins with the
 * name of the part that measures the goal.
 *
 * @typedef {{ id: string, text: string, atMost?: number, atLeast?: number }} Goal
 */

const TIME = 'time of verify() vs createHmac + timingSafeEqual by hand'
const RATE = 'requests/s, 1 KiB'
const ACCEPTED = 'accepted/s, 50 concurrent requests, vs a receiver without an inbox'
const BARE = 'vs bare node:http + createHmac + JSON.parse'
const EXPLAIN = 'body and a wrong signature, vs one HMAC of the body'

/** @type {readonly Goal[]} */
export const GOALS = [
  { id: 'verify/256B', text: `${TIME}, 256 B`, atMost: 0.8 },
  { id: 'verify/1KiB', text: `${TIME}, 1 KiB`, atMost: 0.8 },
  { id: 'verify/16KiB', text: `${TIME}, 16 KiB`, atMost: 1 },
  { id: 'verify/256KiB', text: `${TIME}, 256 KiB`, atMost: 1.03 },
  // 50 ms on a machine that hashes 64 KiB in 40 µs.
  { id: 'explain/JSON/64KiB', text: `time of explain() with a 64 KiB JSON ${EXPLAIN}`, atMost: 1250 },
  { id: 'explain/text/64KiB', text: `time of explain() with a 64 KiB text ${EXPLAIN}`, atMost: 1250 },
  { id: 'http/node', text: `node:http, ${RATE}, ${BARE}`, atLeast: 0.97 },
  { id: 'http/fastify', text: `Fastify, ${RATE}, ${BARE}`, atLeast: 0.9 },
  { id: 'http/hono', text: `fetch on Hono's Node server, ${RATE}, ${BARE}`, atLeast: 0.75 },
  { id: 'http/express', text: `Express 5, ${RATE}, vs Express with express.json({ verify })`, atLeast: 1.4 },
  { id: 'http/256KiB', text: 'node:http, requests/s, 256 KiB, vs raw-body by hand', atLeast: 0.6 },
  // 1.05 instead of 1, because results of identical code vary by a few percent between runs.
  {
    id: 'memory/uploads',
    text: '16 concurrent uploads of 5 MiB: peak memory over idle, vs raw-body by hand that hashes on arrival',
    atMost: 1.05,
  },
  {
    id: 'start/geohook',
    text: 'time to import geohook in a new process, vs @octokit/webhooks',
    atMost: 1.05,
  },
  { id: 'inbox/sqlite', text: `SQLite: ${ACCEPTED}`, atLeast: 0.55 },
  { id: 'inbox/postgres', text: `PostgreSQL: ${ACCEPTED}`, atLeast: 0.3 },
  ...['ASCII', 'non-Latin'].map((script) => ({
    id: `changes/memory/${script}`,
    text: `changes.of(), 100,000 edits with ${script} text: peak memory vs the size of the document`,
    atMost: 4,
  })),
]

/** Creates a table of the goals with their measured figures. */
export function toGoalsTable(figures) {
  return {
    title: 'The goals',
    columns: ['figure', 'description', 'goal', 'measured', 'result'],
    rows: GOALS.map(({ id, text, atMost = Infinity, atLeast = -Infinity }) => {
      const wanted = atMost < Infinity ? `≤ ${atMost}×` : `≥ ${atLeast}×`
      const figure = figures[id]
      if (!figure) return [`\`${id}\``, text, wanted, '-', 'not measured']
      const { median, low, high } = figure
      const measured = `${digits(median)}× (${digits(low)}-${digits(high)})`
      const isReached = median <= atMost && median >= atLeast
      return [`\`${id}\``, text, wanted, measured, isReached ? 'reached' : 'not reached']
    }),
  }
}
