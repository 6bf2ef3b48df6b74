import { createHash } from 'node:crypto'
import { isObject, tryJson } from '../../shared/json.ts'
import { sendRequest } from '../io/http.ts'
import { type CliCommand, requireOthers } from '../options/command.ts'
import {
  addSecretOptions,
  readSecret,
  type SecretKind,
  type SecretOptions,
  toText,
} from '../options/secrets.ts'
import { httpUrl, wholeNumber } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import type { Connection } from './connect.ts'
import type { Counts, Journal, RingKey } from './ring-file.ts'

export interface HealthOptions extends SecretOptions<'healthToken'> {
  health?: URL
  receivers?: number
}

const TOKEN: SecretKind = {
  option: 'health-token',
  noun: 'bearer token of the address in --health',
  noText: true,
}

export const addHealthOptions = (command: CliCommand): CliCommand =>
  command
    .option('--health <url>', 'address that returns receiver.stats() of receivers with the keyring', httpUrl)
    .option(
      '--receivers <n>',
      'with --health: number of receivers that it reaches (default: 1)',
      wholeNumber(1, 1_000),
    )
    .with(addSecretOptions(TOKEN))

/** Maximum milliseconds and bytes of a response. */
const LIMITS = { timeout: 10_000, limit: 1024 * 1024 }
/** Requests for each receiver. A load balancer may choose one of them at random. */
const REQUESTS = 10

/** The receivers that share a keyring, as their statistics show them. */
export interface Receivers {
  /** The number that must respond. */
  readonly number: number
  /** Why the last request failed; empty without a failure. */
  readonly trouble: string
  /** Makes the next `look` ask again. */
  renew(): void
  /**
   * Asks until each receiver has responded, and records the counts in the journal.
   *
   * @returns the counts of the receivers that have responded with keys of this keyring
   */
  look(keys: readonly RingKey[], journal: Journal): Promise<Counts[]>
}

/** Returns undefined without `--health`. @throws {CliError} exit code 2 */
export async function createReceivers(
  io: Io,
  options: HealthOptions,
  { trust }: Connection,
  signal: AbortSignal,
  expected: number | undefined,
): Promise<Receivers | undefined> {
  requireOthers(options, [
    ['receivers', 'health'],
    ['healthTokenFile', 'health'],
    ['healthTokenEnv', 'health'],
  ])
  const { health: url, receivers: number = expected ?? 1 } = options
  const secret = await readSecret(io, TOKEN, options)
  if (!url) return undefined
  const headers: [string, string][] = [['accept', 'application/json']]
  if (secret) headers.push(['authorization', `Bearer ${toText(secret, 'health-token')}`])

  let trouble = ''
  async function ask(): Promise<Map<string, Stats>> {
    const found = new Map<string, Stats>()
    const request = { method: 'GET', headers, body: Buffer.alloc(0) }
    for (let tries = 0; tries < REQUESTS * number && found.size < number; tries++) {
      try {
        const { status, body } = await sendRequest(url as URL, request, {
          ...LIMITS,
          trust,
          signal,
        })
        const stats = status === 200 ? readStats(tryJson(body.toString())) : undefined
        if (stats) found.set(stats.instance, stats)
        else trouble = `a response with status ${status} did not contain stats()`
      } catch (error) {
        trouble = (error as Error).message
        break // the next request would wait as long
      }
    }
    return found
  }

  let asked: ReturnType<typeof ask> | undefined
  /** The receivers that have responded in this run. */
  const known = new Set<string>()
  return {
    number,
    get trouble() {
      return trouble
    },
    renew() {
      asked = undefined
    },
    async look(keys, journal) {
      asked ??= ask()
      const isNew = Object.keys(journal.receivers).length === 0
      const all: Counts[] = []
      for (const [instance, { refused, keys: shown }] of await asked) {
        // Another keyring may have the same ids.
        const own = shown.filter(({ id, fingerprint }) =>
          keys.some((key) => key.id === id && fingerprintOf(key) === fingerprint),
        )
        if (own.length === 0) continue
        const last = { refused, matched: Object.fromEntries(own.map(({ id, matched }) => [id, matched])) }
        const before = journal.receivers[instance]
        // A receiver that starts later counts from zero.
        const first = before?.first ?? (isNew ? last : { refused: 0, matched: {} })
        journal.receivers[instance] = { first, last }
        if (matchedOf(last, journal.from) > (before ? matchedOf(before.last, journal.from) : 0)) {
          const now = Date.now()
          const lastMatched = Date.parse(String(own.find(({ id }) => id === journal.from)?.lastMatched))
          // The clock of a receiver may be wrong, but what happened between two runs only the receiver knows.
          const at = known.has(instance) || Number.isNaN(lastMatched) ? now : Math.min(now, lastMatched)
          if (at > Date.parse(journal.matchedAt ?? '1970')) journal.matchedAt = new Date(at).toISOString()
        }
        known.add(instance)
        all.push(last)
      }
      return all
    },
  }
}

interface Stats {
  instance: string
  refused: number
  keys: readonly { id: string; fingerprint: string; matched: number; lastMatched?: string }[]
}

/** Returns undefined for anything but the statistics of a receiver with a keyring. */
function readStats(given: unknown): Stats | undefined {
  const { instance, outcomes, keys } = isObject(given) ? given : {}
  const isValid =
    typeof instance === 'string' &&
    isObject(outcomes) &&
    Number.isFinite(outcomes.refused) &&
    Array.isArray(keys)
  return isValid
    ? { instance, refused: Number(outcomes.refused), keys: keys.filter(isObject) as unknown as Stats['keys'] }
    : undefined
}

const fingerprintOf = ({ key }: RingKey): string => createHash('sha256').update(key).digest('hex').slice(0, 4)

/** An id can be the name of an inherited member. */
export const matchedOf = ({ matched }: Counts, id: string): number =>
  Object.hasOwn(matched, id) ? Number(matched[id]) : 0

/** What the receivers have counted since the rotation began. */
export function sumUp({ receivers, from, to }: Journal): {
  matched: Record<string, number>
  refused: number
} {
  const all = Object.values(receivers)
  const sum = (read: (counts: Counts) => number): number =>
    all.reduce((total, { first, last }) => total + read(last) - read(first), 0)
  const matched = [from, to].map((id) => [id, sum((counts) => matchedOf(counts, id))])
  return { matched: Object.fromEntries(matched), refused: sum(({ refused }) => refused) }
}
