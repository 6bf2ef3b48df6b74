import type { Random } from './random.ts'

/** Points of the receiver program. When the program reaches a point, it writes the letter of the point. */
export const POINTS = { opening: 'o', listening: 'l', put: 'p', handler: 'h', success: 'e' } as const

export type Point = keyof typeof POINTS

/** When a process is killed: as soon as one of these conditions is met. */
export interface Kill {
  /** Milliseconds after the start of the process. */
  afterStart?: number
  /** Milliseconds after the process has begun to listen. */
  afterListening: number
  /** Number of deliveries acknowledged since the start of the process. */
  afterAcknowledged?: number
  /** The process is killed `milliseconds` after it has reached the point `times` times. */
  at?: { point: Point; times: number; milliseconds: number }
}

/** Kinds of kills. A plan uses them in turn, so that a few kills cover all kinds. */
type Kinds = readonly ((random: Random) => Partial<Kill>)[]

const KINDS: Kinds = [
  (random) => ({
    at: { point: 'handler', times: random.between(1, 40), milliseconds: random.between(0, 20) },
  }),
  (random) => ({ at: { point: 'put', times: random.between(1, 60), milliseconds: random.between(0, 3) } }),
  (random) => ({ at: { point: 'opening', times: 1, milliseconds: random.between(0, 120) } }),
  (random) => ({ afterAcknowledged: random.between(1, 60) }),
  (random) => ({ afterStart: random.between(0, 2_000) }),
]

/** Kinds for workers that coalesce: while ends are recorded, during a call, and while deliveries gather. */
export const COALESCING_KINDS: Kinds = [
  (random) => ({ at: { point: 'success', times: random.between(1, 6), milliseconds: random.between(0, 4) } }),
  (random) => ({
    at: { point: 'handler', times: random.between(1, 6), milliseconds: random.between(0, 20) },
  }),
  (random) => ({ at: { point: 'put', times: random.between(5, 40), milliseconds: random.between(0, 3) } }),
  (random) => ({ at: { point: 'success', times: random.between(1, 6), milliseconds: 0 } }),
]

/** Kinds for handlers with names: also while the ends of attempts are recorded. */
export const NAMES_KINDS: Kinds = [...KINDS, ...COALESCING_KINDS.slice(0, 1)]

/** A kill of the store's server: milliseconds to wait before the kill, and milliseconds until the restart. */
export interface ServerKill {
  after: number
  down: number
}

export const planServerKills = (count: number, random: Random): ServerKill[] =>
  Array.from({ length: count }, () => ({
    after: random.between(1_000, 4_000),
    down: random.between(0, 1_000),
  }))

/** Plans kills. The last one always is of the first kind, so that every plan can interrupt a delivery. */
export function planKills(count: number, random: Random, kinds: Kinds = KINDS): Kill[] {
  const first = random.between(0, kinds.length - 1)
  return Array.from({ length: count }, (_, index) => {
    const isLast = index === count - 1
    const kind = isLast ? kinds[0] : kinds[(first + index) % kinds.length]
    return { afterListening: random.between(300, 2_000), ...kind?.(random) }
  })
}
