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

/** `geohook inbox`: what is in a durable inbox, and what is to become of it. */
export function createInboxCommand(): Command {
  const command = new Command('inbox')
    .summary('look after the deliveries in a durable inbox')
    .description('Shows what is in a durable inbox, and retries, discards or exports dead letters.')
    .usage('<command> [options]')
  addExamples(command, [
    'geohook inbox stats --store inbox.db',
    'geohook inbox list --state dead --store inbox.db',
    'geohook inbox retry --dead --store-file store.txt',
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
  ]
  for (const one of commands) command.addCommand(one)
  return command
}
