/**
 * How important a scenario is, in the words of RFC 2119: a `must` protects data or availability; a `should` is
 * recommended, and a receiver may deviate only for a good reason; a `may` is a convenience.
 */
export type Level = 'must' | 'should' | 'may'

/**
 * The result of a scenario. `undecided`: the responses do not show whether the receiver conforms. `skipped`: the scenario
 * does not apply to this receiver or sender, or was not selected.
 */
export type Verdict = 'passed' | 'failed' | 'undecided' | 'skipped'

/** What a scenario found out. */
export interface Finding {
  readonly verdict: Verdict
  /** The request and the response, or the reason for an undecided or skipped verdict, without the key. */
  readonly evidence: string
}

/** The groups of scenarios, in the order of the report. */
export const GROUPS = [
  'acceptance',
  'signatures',
  'bodies',
  'limits',
  'methods',
  'handshake',
  'deliveries',
  'connections',
  'responses',
  'tls',
] as const

/** A group of scenarios. */
export type Group = (typeof GROUPS)[number]

/** The text of a scenario. */
export interface ScenarioText {
  /** Stable name, for `only`, `skip` and the reports: lower-case words joined by hyphens. */
  readonly id: string
  readonly level: Level
  /** What a conforming receiver does, as a statement: `refuses a delivery without a signature`. */
  readonly title: string
  /** What can go wrong otherwise. */
  readonly reason: string
  /** How to change a receiver that fails. */
  readonly fix: string
}

/** One line of a report. */
export interface CheckResult extends ScenarioText, Finding {
  readonly group: Group
  /** How long the scenario took, in milliseconds. */
  readonly duration: number
}

/**
 * The result of a run. `conforms`: every `must` that ran passed. `fails`: a `must` failed. `undecided`: no `must`
 * failed, but at least one is undecided. `unreachable`: no connection was possible. With `strict`, a `should` counts
 * like a `must`.
 */
export type Conclusion = 'conforms' | 'fails' | 'undecided' | 'unreachable'

/** The report of a run. */
export interface CheckReport {
  /** Version of this format. A later version only adds members. */
  readonly format: 1
  /** The payload URL, without user name, password and query. */
  readonly url: string
  /** Version of geohook. */
  readonly version: string
  /** Start of the run in ISO 8601. */
  readonly startedAt: string
  /** Duration of the run in milliseconds. */
  readonly duration: number
  readonly profile: string
  readonly dialect: string
  readonly strict: boolean
  readonly conclusion: Conclusion
  /** One sentence for the conclusion, for example why there was no connection. */
  readonly summary: string
  /** Number of results with each verdict. */
  readonly counts: Readonly<Record<Verdict, number>>
  /** One result per scenario, in the order of the groups. Empty if the receiver is unreachable. */
  readonly results: readonly CheckResult[]
}
