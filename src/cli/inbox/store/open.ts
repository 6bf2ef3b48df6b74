import type { Command } from 'commander'
import type { DurableInbox } from '../../../inbox/index.ts'
import { usageError } from '../../errors.ts'
import { addSecretOptions, findSecrets, toText } from '../../options/secrets.ts'
import { type Progress, withProgress } from '../../terminal/progress.ts'
import { type Engine, requireSqliteFile, type StoreAddress, toStoreAddress } from './address.ts'
import { toStoreError } from './errors.ts'
import { requirePresence } from './presence.ts'

/** Where an inbox is. */
export interface StoreOptions {
  store?: string[]
  storeEnv?: string[]
  storeFile?: string[]
  schema?: string
  queue?: string
  prefix?: string
  json?: true
}

const VARIABLE = 'GEOHOOK_INBOX'

/** Adds `--store` and what else says where an inbox is, and `--json`. */
export function addStoreOptions(command: Command): Command {
  const what = 'the inbox: the path of its SQLite file, or its URL of postgres:// or redis://'
  return addSecretOptions(command, { option: 'store', what, variable: VARIABLE, several: false })
    .option('--schema <name>', 'PostgreSQL: the schema of the inbox, if it was given one')
    .option('--queue <name>', 'PostgreSQL and Redis: the queue of the inbox, if it was given one')
    .option('--prefix <text>', 'Redis: the prefix of its keys, if it was given one')
    .option('--json', 'print JSON')
}

/**
 * Opens an inbox, does something with it, and closes it. Nothing is worked on meanwhile.
 *
 * @throws {CliError} exit code 2 where it is not there, 3 where its server cannot be reached
 */
export const withInbox = <T>(
  options: StoreOptions,
  task: (inbox: DurableInbox, progress: Progress) => Promise<T>,
): Promise<T> =>
  withStore(options, async (address, progress) => {
    let inbox: DurableInbox | undefined
    try {
      inbox = await OPENERS[address.engine](address.text, options)
      if (address.engine !== 'sqlite') await requirePresence(address, options)
      return await task(inbox, progress)
    } finally {
      // Of a store that failed, nobody need know that it cannot be closed either.
      await inbox?.close().catch(() => {})
    }
  })

/**
 * Does something with the address of an inbox. What goes wrong is told without what is secret in the address.
 *
 * @throws {CliError} exit code 2 where it is not there, 3 where its server cannot be reached
 */
export async function withStore<T>(
  options: StoreOptions,
  task: (address: StoreAddress, progress: Progress) => Promise<T>,
): Promise<T> {
  const { address, from } = await findStore(options)
  if (address.engine === 'sqlite') await requireSqliteFile(address.text, from)
  // They are for the process that receives: that Node's SQLite is experimental, that Redis keeps no file.
  process.removeAllListeners('warning')
  return withProgress(`asking ${address.place}`, options.json === true, async (progress) => {
    try {
      return await task(address, progress)
    } catch (error) {
      throw toStoreError(error, address)
    }
  })
}

async function findStore(options: StoreOptions): Promise<{ address: StoreAddress; from: string }> {
  const { store: text, storeEnv: env, storeFile: file } = options
  const [secret, ...more] = await findSecrets({
    option: 'store',
    text,
    env,
    file,
    variable: VARIABLE,
    several: false,
  })
  if (!secret) {
    throw usageError(
      'there is no inbox',
      `Set ${VARIABLE}, or give --store: the path of a SQLite file, or a URL.`,
      'store_missing',
    )
  }
  if (more.length > 0) throw usageError('only one store is of use')
  const address = toStoreAddress(toText(secret, 'store'), secret.from)
  for (const [name, engines] of TAKEN_BY) {
    if (options[name] === undefined) continue
    if (!engines.includes(address.engine)) throw usageError(`--${name} is not for this kind of store`)
    if (options[name] === '') throw usageError(`--${name} is empty`)
  }
  return { address, from: secret.from }
}

const TAKEN_BY: readonly (readonly ['schema' | 'queue' | 'prefix', readonly Engine[]])[] = [
  ['schema', ['postgres']],
  ['queue', ['postgres', 'redis']],
  ['prefix', ['redis']],
]

/** What goes wrong is told by the command, and not as a warning. */
const observer = { failed() {}, dead() {}, trouble() {} }

/** Each engine is loaded when it is the one. */
const OPENERS: Record<Engine, (text: string, options: StoreOptions) => Promise<DurableInbox>> = {
  async sqlite(path) {
    const { createSqliteInbox } = await import('../../../inbox/sqlite.ts')
    return createSqliteInbox({ path, observer })
  },
  async postgres(connectionString, { schema, queue }) {
    const { createPostgresInbox } = await import('../../../inbox/postgres.ts')
    return createPostgresInbox({ connectionString, schema, queue, observer })
  },
  async redis(url, { prefix, queue }) {
    const { createRedisInbox } = await import('../../../inbox/redis.ts')
    return createRedisInbox({ url, prefix, queue, observer })
  },
}
