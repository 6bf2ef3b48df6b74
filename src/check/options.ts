import type { CaSource } from '../adapters/tls-trust.ts'
import type { ChangeType } from '../payload/events.ts'
import type { SignatureKey } from '../signature/keyring.ts'
import type { ProfileName } from '../signature/profiles.ts'
import type { Dialect } from '../testing/payloads.ts'
import type { CheckResult } from './types.ts'

/**
 * Counts how often the receiver has handled the delivery whose webhook name contains `id`, or how many deliveries it
 * has handled since it started: only differences matter.
 */
export type Observer = (id: string) => number | Promise<number>

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
  observer?: Observer | undefined
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
