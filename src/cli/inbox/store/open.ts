import type { DurableInbox } from '../../../inbox/index.ts'
import type { Io, Progress } from '../../terminal/io.ts'
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
  io: Io,
  options: StoreOptions,
  task: (inbox: DurableInbox, progress: Progress) => Promise<T>,
): Promise<T> =>
  withStore(io, options, async (address, progress) => {
    let inbox: DurableInbox | undefined
    try {
      inbox = await OPENERS[address.engine](address.text, options)
      if (address.engine !== 'sqlite') await requireInboxOnServer(io, address, options)
      return await task(inbox, progress)
    } finally {
      // Ignores errors of close(), so that they do not replace the error of the task.
      await inbox?.close().catch(() => {})
    }
  })

/**
 * Runs a task with the address of a store. Removes the secrets of the address from the task's errors.
 *
 * @throws {CliError} exit code 2 if the inbox does not exist, 3 if its server is unreachable
 */
export async function withStore<T>(
  io: Io,
  options: StoreOptions,
  task: (address: StoreAddress, progress: Progress) => Promise<T>,
): Promise<T> {
  const { address, from } = await readStoreAddress(io, options)
  if (address.engine === 'sqlite') await requireSqliteFile(address.text, from)
  return io.withProgress(`asking ${address.displayName}`, async (progress) => {
    try {
      return await task(address, progress)
    } catch (error) {
      throw toStoreError(error, address)
    }
  })
}

/** Ignores all notifications. Without an observer, the inbox would emit warnings about errors that commands print. */
const observer = { failed() {}, dead() {}, trouble() {} }

/** For each engine, a function that loads the engine and opens an inbox. */
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
