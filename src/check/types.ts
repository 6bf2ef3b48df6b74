import type { ChangeType } from '../payload/events.ts'
import type { Dialect } from '../shared/senders.ts'
import type { CaSource } from '../shared/tls-trust.node.ts'
import type { SignatureKey } from '../signature/keyring.ts'
import type { ProfileName } from '../signature/profiles.ts'

/**
 * How important a scenario is, in the words of RFC 2119: a `must` protects data or availability; a `should` is
 * recommended, and a receiver may deviate only for a good reason; a `may` is a convenience.
 */
export type Level = 'must' | 'should' | 'may'

/**
 * The result of a scenario. `undecided`: the responses do not show whether the receiver conforms. `skipped`: the scenario
 * does not apply to this receiver or sender, or was not selected.
 */
export type CheckVerdict = 'passed' | 'failed' | 'undecided' | 'skipped'

/** What a scenario found out. */
export interface Finding {
  readonly verdict: CheckVerdict
  /** The request and the response, or the reason for an undecided or skipped verdict, without the key. */
  readonly evidence: string
}

export const passed = (evidence: string): Finding => ({ verdict: 'passed', evidence })
export const failed = (evidence: string): Finding => ({ verdict: 'failed', evidence })
export const undecided = (evidence: string): Finding => ({ verdict: 'undecided', evidence })
export const skipped = (evidence: string): Finding => ({ verdict: 'skipped', evidence })

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
  readonly counts: Readonly<Record<CheckVerdict, number>>
  /** One result per scenario, in the order of the groups. Empty if the receiver is unreachable. */
  readonly results: readonly CheckResult[]
}

/**
 * Counts how often the receiver has handled the delivery whose webhook name contains `id`, or how many deliveries it
 * has handled since it started: only differences matter.
 */
export type CheckObserver = (id: string) => number | Promise<number>

/**
 * Makes the receiver's handler fail (`fails` is true) or work again (false), for the delivery whose webhook name
 * contains `id` or for all deliveries.
 */
export type HandlerSwitch = (id: string, fails: boolean) => unknown

/** Options of `checkReceiver`. */
export interface CheckOptions {
  /** The payload URL, `http:` or `https:`. */
  url: string | URL
  /** The key that the receiver has. */
  signatureKey: SignatureKey
  /** Kind of sender to act as. Default `'service'`, or that of the dialect. */
  profile?: ProfileName | undefined
  /** Format of the payloads. Default: that of the profile. */
  dialect?: Dialect | undefined
  /** Header for signatures. Default: that of the profile. */
  signatureHeader?: string | undefined
  /** Encoding of signatures. Default `'hex'`, or that of the profile. */
  encoding?: 'hex' | 'base64' | undefined
  /** Text before signatures, for example `'sha256='`. Default: that of the profile. */
  prefix?: string | undefined
  /** Change type of valid deliveries. Default `'FeaturesUpdated'`, or `'update'` in the organization dialect. */
  changeType?: ChangeType | undefined
  /** Also runs the scenarios that send a valid delivery more than once, or break one off. Default false. */
  sideEffects?: boolean | undefined
  /** Counts handled deliveries. Without it, scenarios that need a count are undecided. */
  observer?: CheckObserver | undefined
  /** Makes the handler fail, for the scenario `handler-failure`. Requires `sideEffects`. Default: it is skipped. */
  failHandler?: HandlerSwitch | undefined
  /**
   * URL of a tenant that does not exist, with the same origin as `url`. Two scenarios compare its responses with those
   * of `url`. Default: they are skipped.
   */
  unknownUrl?: string | URL | undefined
  /** Ids or groups of the scenarios to run. Default: all. */
  only?: readonly string[] | undefined
  /** Ids or groups of scenarios to skip. Default: none. */
  skip?: readonly string[] | undefined
  /** Counts a `should` like a `must`. Default false. */
  strict?: boolean | undefined
  /** Milliseconds to wait for each response, 100 to 60,000. Default 10,000, the limit of the specification's senders. */
  timeout?: number | undefined
  /** Headers to add to every request, for example for a gateway. */
  headers?: Readonly<Record<string, string>> | undefined
  /** CA certificates to trust for https, besides those of Node. */
  ca?: CaSource | undefined
  /** Called after each scenario. */
  onResult?: ((result: CheckResult, progress: { done: number; total: number }) => void) | undefined
}

/** True if a failure of this scenario means that the receiver does not conform. */
export const isRequired = ({ level }: CheckResult, { strict }: Pick<CheckReport, 'strict'>): boolean =>
  level === 'must' || (strict && level === 'should')
