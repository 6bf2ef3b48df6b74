import type { DurableInbox } from '../../../inbox/index.ts'
import { type Progress, withProgress } from '../../terminal/progress.ts'
import { type Engine, requireSqliteFile, type StoreAddress } from './address.ts'
import { toStoreError } from './errors.ts'
import { requireInboxOnServer } from './existence.ts'
import { readStoreAddress, type StoreOptions } from './options.ts'

/**
 * Opens an inbox, runs a task on it, and closes it. Starts no workers.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist, 3 if its server is unreachable
 */
export const withInbox = <T>(
  options: StoreOptions,
  task: (inbox: DurableInbox, progress: Progress) => Promise<T>,
): Promise<T> =>
  withStore(options, async (address, progress) => {
    let inbox: DurableInbox | undefined
    try {
      inbox = await OPENERS[address.engine](address.text, options)
      if (address.engine !== 'sqlite') await requireInboxOnServer(address, options)
      return await task(inbox, progress)
    } finally {
      // Keeps the first error: closing a store that has failed usually fails too.
      await inbox?.close().catch(() => {})
    }
  })

/**
 * Runs a task with the address of a store. Its errors do not contain the secrets of the address.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist, 3 if its server is unreachable
 */
export async function withStore<T>(
  options: StoreOptions,
  task: (address: StoreAddress, progress: Progress) => Promise<T>,
): Promise<T> {
  const { address, from } = await readStoreAddress(options)
  if (address.engine === 'sqlite') await requireSqliteFile(address.text, from)
  // Warnings, such as Redis without persistence, are for the process that receives deliveries.
  process.removeAllListeners('warning')
  return withProgress(`asking ${address.displayName}`, options.json === true, async (progress) => {
    try {
      return await task(address, progress)
    } catch (error) {
      throw toStoreError(error, address)
    }
  })
}

/** Keeps the inbox from emitting warnings: the command prints the error. */
const observer = { failed() {}, dead() {}, trouble() {} }

/** Open an inbox, and load its engine. */
const OPENERS: Record<Engine, (text: string, options: StoreOptions) => Promise<DurableInbox>> = {
  async sqlite(path) {
    const { createSqliteInbox } = await import('../../../inbox/sqlite/index.ts')
    return createSqliteInbox({ path, observer })
  },
  async postgres(connectionString, { schema, queue }) {
    const { createPostgresInbox } = await import('../../../inbox/postgres/index.ts')
    return createPostgresInbox({ connectionString, schema, queue, observer })
  },
  async redis(url, { prefix, queue }) {
    const { createRedisInbox } = await import('../../../inbox/redis/index.ts')
    return createRedisInbox({ url, prefix, queue, observer })
  },
}
