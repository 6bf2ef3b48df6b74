import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { createInboxBackupCommand } from './backup.ts'
import { createInboxDiscardCommand } from './discard.ts'
import { createInboxExportCommand } from './export.ts'
import { createInboxListCommand } from './list.ts'
import { createInboxPurgeCommand } from './purge.ts'
import { createInboxRetryCommand } from './retry.ts'
import { createInboxShowCommand } from './show.ts'
import { createInboxStatsCommand } from './stats.ts'
import { createInboxUiCommand } from './ui.ts'

export function createInboxCommand(io: Io): Command {
  const command = new Command('inbox')
    .summary('manage the deliveries in a durable inbox')
    .description(
      'Shows the deliveries in a durable inbox, and retries, discards or exports dead letters, also in a browser.',
    )
    .usage('<command> [options]')
  addExamples(command, [
    'geohook inbox stats --store inbox.db',
    'geohook inbox list --state dead --store inbox.db',
    'geohook inbox retry --dead --store-file store.txt',
    'geohook inbox ui --store inbox.db',
  ])
  const commands = [
    createInboxStatsCommand(io),
    createInboxListCommand(io),
    createInboxShowCommand(io),
    createInboxRetryCommand(io),
    createInboxDiscardCommand(io),
    createInboxPurgeCommand(io),
    createInboxExportCommand(io),
    createInboxBackupCommand(io),
    createInboxUiCommand(io),
  ]
  for (const subcommand of commands) command.addCommand(subcommand)
  return command
}
