import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import { createInboxBackupCommand } from './backup.ts'
import { createInboxDiscardCommand } from './discard.ts'
import { createInboxExportCommand } from './export.ts'
import { createInboxListCommand } from './list.ts'
import { createInboxPurgeCommand } from './purge.ts'
import { createInboxRetryCommand } from './retry.ts'
import { createInboxShowCommand } from './show.ts'
import { createInboxStatsCommand } from './stats.ts'
import { createInboxUiCommand } from './ui.ts'

export function createInboxCommand(): Command {
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
    createInboxStatsCommand(),
    createInboxListCommand(),
    createInboxShowCommand(),
    createInboxRetryCommand(),
    createInboxDiscardCommand(),
    createInboxPurgeCommand(),
    createInboxExportCommand(),
    createInboxBackupCommand(),
    createInboxUiCommand(),
  ]
  for (const subcommand of commands) command.addCommand(subcommand)
  return command
}
