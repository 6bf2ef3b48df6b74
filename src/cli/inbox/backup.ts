import { Command } from 'commander'
import { usageError } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'
import { withStore } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'

export function createInboxBackupCommand(io: Io): Command {
  const command = new Command('backup')
    .summary('copy the file of a SQLite inbox, even while it is in use')
    .description(
      'Copies the file of a SQLite inbox, even while other processes use it. The copy is complete and consistent; ' +
        'an ordinary copy of the file would lack its write-ahead log. Existing files are not overwritten.',
    )
    .argument('<file>', 'path of the copy')
  addStoreOptions(command)
  addExamples(command, ['geohook inbox backup backup.db --store inbox.db'])
  return command.action(async (file: string, options: StoreOptions) => {
    await withStore(io, options, async ({ engine, text }, progress) => {
      if (engine !== 'sqlite')
        throw usageError(
          'this command can back up only SQLite inboxes',
          'Use the tools of the server: pg_dump for PostgreSQL, BGSAVE for Redis.',
        )
      const { backupSqliteInbox } = await import('../../inbox/sqlite/index.ts')
      progress.update('copying the file')
      await backupSqliteInbox(text, file)
    })
    if (io.json) io.printJson({ file })
    else io.print(`saved as ${printable(file)}`)
  })
}
