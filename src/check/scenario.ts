import type { Probe } from './probe.ts'
import type { Finding, ScenarioText } from './types.ts'

/** One thing that a conforming receiver does, and how to find out whether a receiver does it. */
export interface Scenario extends ScenarioText {
  /** True if it sends the same valid delivery more than once, or breaks one off. Then it runs only with `sideEffects`. */
  readonly hasSideEffects?: true
  /** True if it means nothing for senders that do not sign the body. */
  readonly needsSignature?: true
  /**
   * When it runs. `alone` ones run while no other scenario does, because they measure, count, or occupy the receiver.
   * `last` ones judge the responses to all others. Default: together with others, and first.
   */
  readonly phase?: 'alone' | 'last'
  /** Sends requests, and judges the responses. A thrown error makes the scenario undecided. */
  run(probe: Probe): Promise<Finding> | Finding
}
