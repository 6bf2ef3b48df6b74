import type { Command } from 'commander'
import type { DurableInbox } from '../../inbox/index.ts'
import { startServer } from '../io/server.ts'
import { CliCommand } from '../options/command.ts'
import { addInspectorTokenOptions, readInspectorToken, type TokenOptions } from '../options/secrets.ts'
import { port } from '../options/values.ts'
import type { Io } from '../terminal/io.ts'
import { createInboxBackupCommand, createInboxExportCommand } from './export-backup.ts'
import {
  createInboxDiscardCommand,
  createInboxPurgeCommand,
  createInboxRetryCommand,
} from './retry-discard-purge.ts'
import { createInboxListCommand, createInboxShowCommand, createInboxStatsCommand } from './stats-list-show.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store.ts'

export function createInboxCommand(io: Io): Command {
  return new CliCommand('inbox')
    .summary('manage the deliveries in a durable inbox')
    .description(
      'Shows the deliveries in a durable inbox, and retries, discards or exports dead letters, also in a browser.',
    )
    .usage('<command> [options]')
    .examples(
      'geohook inbox stats --store inbox.db',
      'geohook inbox list --state dead --store inbox.db',
      'geohook inbox retry --dead --store-file store.txt',
      'geohook inbox ui --store inbox.db',
    )
    .addCommand(createInboxStatsCommand(io))
    .addCommand(createInboxListCommand(io))
    .addCommand(createInboxShowCommand(io))
    .addCommand(createInboxRetryCommand(io))
    .addCommand(createInboxDiscardCommand(io))
    .addCommand(createInboxPurgeCommand(io))
    .addCommand(createInboxExportCommand(io))
    .addCommand(createInboxBackupCommand(io))
    .addCommand(createInboxUiCommand(io))
}

interface Options extends StoreOptions, TokenOptions {
  port: number
  host: string
}

function createInboxUiCommand(io: Io): Command {
  return new CliCommand('ui')
    .summary('show the deliveries in a browser')
    .description(
      'Serves a page that shows the deliveries of an inbox, and retries, discards or removes them. It runs no ' +
        'handlers: the workers of the inbox do. Without a token, the page is only for this machine.',
    )
    .option('--port <n>', 'port to listen on; 0 picks a free one', port, 4040)
    .option('--host <address>', 'address to listen on; any but this machine requires a token', '127.0.0.1')
    .with(addInspectorTokenOptions)
    .with(addStoreOptions)
    .examples(
      'geohook inbox ui --store inbox.db',
      'geohook inbox ui --port 0 --store-file store.txt --json',
      'geohook inbox ui --host 0.0.0.0 --token-file token.txt --store-file store.txt',
    )
    .action((options) => showInbox(io, options))
}

async function showInbox(io: Io, options: Options): Promise<void> {
  const token = await readInspectorToken(io, options, options.host)
  const { inspector } = await import('../../inspector/index.ts')
  await withInbox(io, options, async (inbox, progress) => {
    await inbox.stats() // fails now if the store is unreachable
    const page = inspector(withoutLimit(inbox), { token })
    // Called before the address is printed, because a script may stop the server as soon as it has read the address.
    const stopped = io.untilStopped()
    const server = await startServer((req, res) => void page(req, res), options.port, options.host)
    progress.stop()
    io.printAddress('inspector of the inbox on', `${server.url}/`)
    await stopped
    await server.close()
  })
}

/** Hides `maxPending`: this process does not know the limit of the one that receives deliveries. */
const withoutLimit = (inbox: DurableInbox): DurableInbox => ({
  ...inbox,
  stats: async () => ({ ...(await inbox.stats()), maxPending: Number.POSITIVE_INFINITY }),
})
