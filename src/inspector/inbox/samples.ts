import type { InboxStats } from '../../inbox/durable-inbox.ts'
import { sumOf } from './window.ts'

/** The counts of an inbox at one time. */
export interface Sample {
  time: number
  pending: number
  done: number
  dead: number
  total: number
}

/** Events per minute. */
export interface Rates {
  arriving: number
  handled: number
  dead: number
}

/** Recent counts of an inbox. They are taken only while a page is open, or when one is loaded. */
export interface Samples {
  add(stats: InboxStats): void
  /** Oldest first. */
  all(): readonly Sample[]
  /** Undefined until the samples cover at least a second. */
  rates(): Rates | undefined
}

const MAX_SAMPLES = 600
const MAX_AGE = 10 * 60_000
/** Samples that follow sooner replace the last one. */
const MIN_DISTANCE = 500

/** @param clock returns milliseconds since 1970 */
export function createSamples(clock: () => number = Date.now): Samples {
  let samples: Sample[] = []
  return {
    add(stats) {
      const time = clock()
      const { waiting, active, done, dead } = stats
      const sample = { time, pending: waiting + active, done, dead, total: sumOf(stats) }
      const [last, previous] = [samples.at(-1), samples.at(-2)]
      // The second sample is kept, so that the first loads of a page can already give a rate.
      if (last && previous && last.time - previous.time < MIN_DISTANCE) samples.pop()
      samples = [...samples, sample].filter((kept) => time - kept.time <= MAX_AGE).slice(-MAX_SAMPLES)
    },
    all: () => samples,
    rates() {
      const [first, last] = [samples[0], samples.at(-1)]
      if (!first || !last || last.time - first.time < 1_000) return undefined
      const minutes = (last.time - first.time) / 60_000
      // Only increases count: removing deliveries, or retrying dead letters, makes the counts smaller.
      const perMinute = (name: 'total' | 'done' | 'dead'): number => increase(samples, name) / minutes
      return { arriving: perMinute('total'), handled: perMinute('done'), dead: perMinute('dead') }
    },
  }
}

const increase = (samples: readonly Sample[], name: 'total' | 'done' | 'dead'): number =>
  samples.reduce((sum, sample, index) => {
    const before = samples[index - 1]?.[name] ?? sample[name]
    return sum + Math.max(0, sample[name] - before)
  }, 0)
