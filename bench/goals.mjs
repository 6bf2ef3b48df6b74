/**
 * What is to be reached: ratios within one run, so that they mean the same on every machine; one time, and one count.
 * `id` begins with the part that measures it.
 *
 * @typedef {{ id: string, text: string, unit: string, goal: { atMost: number } | { atLeast: number } }} Goal
 */

const TIME = 'time of verify() beside createHmac + timingSafeEqual by hand'
const RATE = 'requests a second, 1 KiB'
const ACCEPTED = 'accepted a second, 50 at once, beside a receiver without an inbox'
const PUT = 'puts a second without HTTP, 50 at once, beside'
const BARE = 'beside bare node:http + createHmac + JSON.parse'

/** @type {readonly Goal[]} */
export const GOALS = [
  { id: 'verify/256B', text: `${TIME}, 256 B`, unit: '×', goal: { atMost: 0.8 } },
  { id: 'verify/1KiB', text: `${TIME}, 1 KiB`, unit: '×', goal: { atMost: 0.8 } },
  { id: 'verify/16KiB', text: `${TIME}, 16 KiB`, unit: '×', goal: { atMost: 1 } },
  { id: 'verify/256KiB', text: `${TIME}, 256 KiB`, unit: '×', goal: { atMost: 1.03 } },
  { id: 'verify/5MiB', text: `${TIME}, 5 MiB`, unit: '×', goal: { atMost: 1.03 } },
  { id: 'http/node', text: `node:http, ${RATE}, ${BARE}`, unit: '×', goal: { atLeast: 0.97 } },
  { id: 'http/fastify', text: `Fastify, ${RATE}, ${BARE}`, unit: '×', goal: { atLeast: 0.9 } },
  { id: 'http/hono', text: `Hono on Node, ${RATE}, ${BARE}`, unit: '×', goal: { atLeast: 0.75 } },
  {
    id: 'http/express',
    text: `Express 5, ${RATE}, beside Express with express.json({ verify })`,
    unit: '×',
    goal: { atLeast: 1.4 },
  },
  {
    id: 'memory/verdict',
    text: '5 MiB body: from the last byte to the verdict',
    unit: ' ms',
    goal: { atMost: 0.3 },
  },
  {
    id: 'memory/uploads',
    text: '16 uploads of 5 MiB at once: peak memory over idle for each, in bodies',
    unit: '×',
    goal: { atMost: 1.9 },
  },
  {
    id: 'mock/deliveries',
    text: 'mock deliveries a second beside bare undici Pool.request',
    unit: '×',
    goal: { atLeast: 0.45 },
  },
  { id: 'inbox/http/sqlite', text: `SQLite: ${ACCEPTED}`, unit: '×', goal: { atLeast: 0.55 } },
  { id: 'inbox/http/postgres', text: `PostgreSQL: ${ACCEPTED}`, unit: '×', goal: { atLeast: 0.3 } },
  { id: 'inbox/http/redis', text: `Redis: ${ACCEPTED}`, unit: '×', goal: { atLeast: 0.35 } },
  { id: 'inbox/put/postgres', text: `PostgreSQL: ${PUT} boss.send`, unit: '×', goal: { atLeast: 3 } },
  { id: 'inbox/put/redis', text: `Redis: ${PUT} Queue.add`, unit: '×', goal: { atLeast: 0.8 } },
]

/** @param {Goal['goal']} goal @param {number} value */
export const isReached = ({ atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }, value) =>
  value <= atMost && value >= atLeast

/** The value that a figure is to reach. @param {string} id */
export function goalOf(id) {
  const { goal } = GOALS.find((one) => one.id === id)
  return goal.atMost ?? goal.atLeast
}
