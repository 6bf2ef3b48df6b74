import type { Command } from 'commander'
import { usageError } from '../../errors.ts'
import {
  addSecretOptions,
  readSecret,
  type SecretKind,
  type SecretOptions,
  toText,
} from '../../options/secrets.ts'
import type { Io } from '../../terminal/io.ts'
import { type Engine, parseStoreAddress, type StoreAddress } from './address.ts'

/** Values of the options that select an inbox, and of `--json`. */
export interface StoreOptions extends SecretOptions<'store'> {
  schema?: string
  queue?: string
  prefix?: string
}

const STORE = {
  option: 'store',
  noun: 'address of the inbox',
  detail: 'path of a SQLite file, or a postgres:// or redis:// URL',
  variable: 'GEOHOOK_INBOX',
} as const satisfies SecretKind

/** Adds the options that select an inbox, and `--json`. */
export function addStoreOptions(command: Command): Command {
  return addSecretOptions(command, STORE)
    .option('--schema <name>', 'PostgreSQL: schema of the inbox (default: geohook)')
    .option('--queue <name>', 'PostgreSQL and Redis: queue of the inbox (default: inbox)')
    .option('--prefix <text>', 'Redis: prefix of the keys in Redis (default: geohook)')
    .option('--json', 'print JSON')
}

const ENGINES_OF: readonly (readonly ['schema' | 'queue' | 'prefix', readonly Engine[]])[] = [
  ['schema', ['postgres']],
  ['queue', ['postgres', 'redis']],
  ['prefix', ['redis']],
]

/**
 * Reads the address of the store.
 *
 * @returns the address, and where it was given, for error messages
 * @throws {CliError} exit code 2
 */
export async function readStoreAddress(
  io: Io,
  options: StoreOptions,
): Promise<{ address: StoreAddress; from: string }> {
  const secret = await readSecret(io, STORE, options)
  if (!secret) {
    throw usageError(
      'the inbox is missing',
      `Set ${STORE.variable}, or give --store: the path of a SQLite file, or a URL.`,
      'store_missing',
    )
  }
  const address = parseStoreAddress(io, toText(secret, 'store'), secret.from)
  for (const [name, engines] of ENGINES_OF) {
    if (options[name] === undefined) continue
    if (!engines.includes(address.engine)) throw usageError(`--${name} does not apply to this kind of store`)
    if (options[name] === '') throw usageError(`--${name} is empty`)
  }
  return { address, from: secret.from }
}
