import type { Random } from './random.ts'

/** A point that the receiver tells of when it comes to it. The values are what it writes. */
export const POINTS = { opening: 'o', listening: 'l', put: 'p', handler: 'h' } as const

export type Point = keyof typeof POINTS

/** When a process is killed: at the first of what is given. */
export interface Kill {
  /** So many milliseconds after it was started. */
  afterStart?: number
  /** So many milliseconds after it listens. */
  afterListening: number
  /** As soon as so many of its answers have acknowledged a delivery. */
  afterAcknowledged?: number
  /** So many milliseconds after it came to a point for the so manieth time. */
  at?: { point: Point; times: number; milliseconds: number }
}

/** By time, by answers, in a handler, in a put, while the inbox is opened: in turn, so that a few kills have them all. */
const KINDS: readonly ((random: Random) => Partial<Kill>)[] = [
  (random) => ({
    at: { point: 'handler', times: random.between(1, 40), milliseconds: random.between(0, 20) },
  }),
  (random) => ({ at: { point: 'put', times: random.between(1, 60), milliseconds: random.between(0, 3) } }),
  (random) => ({ at: { point: 'opening', times: 1, milliseconds: random.between(0, 120) } }),
  (random) => ({ afterAcknowledged: random.between(1, 60) }),
  (random) => ({ afterStart: random.between(0, 2_000) }),
]

/** When the server of the store is killed, and for how long it stays down, in milliseconds. */
export interface ServerKill {
  after: number
  down: number
}

export const planServerKills = (count: number, random: Random): ServerKill[] =>
  Array.from({ length: count }, () => ({
    after: random.between(1_000, 4_000),
    down: random.between(0, 1_000),
  }))

/** So many kills. The last comes while there is work: what it leaves behind is what the test is about. */
export function planKills(count: number, random: Random): Kill[] {
  const first = random.between(0, KINDS.length - 1)
  return Array.from({ length: count }, (_, index) => {
    const isLast = index === count - 1
    const kind = isLast ? KINDS[0] : KINDS[(first + index) % KINDS.length]
    return { afterListening: random.between(300, 2_000), ...kind?.(random) }
  })
}
