import type { Steps } from './steps.ts'

/** A receiver with one flaw, as people write them. */
export interface Flaw {
  /** Ids of the scenarios that are about this flaw. */
  finds: readonly string[]
  /** Ids of other scenarios that the receiver cannot pass with this flaw. */
  also?: readonly string[]
  /** Ids of scenarios whose requests trigger the flaw, and which pass. */
  triggers?: readonly string[]
  /** True if it accepts everything, so that it fails all scenarios with forgeries. */
  acceptsForgeries?: true
  profile?: 'arcgis'
  hasSideEffects?: true
  /** Timeout of the short check in milliseconds. Default 2,000. */
  timeout?: number
  /** A proxy in front of the receiver: returns the bytes to forward of those that arrived together. */
  forward?(bytes: Buffer): Buffer
  /** Returns the steps to replace. */
  change(steps: Steps): Partial<Steps>
}

/** Flaws by the rest of the sentence `finds a receiver that …`. */
export type Flaws = Readonly<Record<string, Flaw>>
