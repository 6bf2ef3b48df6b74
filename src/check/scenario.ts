import type { Probe } from './probe.ts'
import type { Finding, ScenarioText } from './types.ts'

/** One thing that a conforming receiver does, and how to find out whether a receiver does it. */
export interface Scenario extends ScenarioText {
  /** True if it sends the same valid delivery more than once, or breaks one off. Then it runs only with `sideEffects`. */
  readonly hasSideEffects?: true
  /** True if it means nothing for senders that do not sign the body. */
  readonly needsSignature?: true
  /**
   * When it runs. `first`: before all others. `waiting`: it mostly waits, so it runs at the same time as all others if
   * the receiver serves several connections at once. `alone`: one after another, because it measures or counts. `last`:
   * it judges the responses to all others, or may damage the receiver. Default: several at the same time.
   */
  readonly phase?: 'first' | 'waiting' | 'alone' | 'last'
  /** Sends requests, and judges the responses. A thrown error makes the scenario undecided. */
  run(probe: Probe): Promise<Finding> | Finding
}
