import { Command, Option } from 'commander'
import type { InboxState } from '../../inbox/index.ts'
import { wholeNumber } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'
import { toEntryTable } from './entry-table.ts'
import { withInbox } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'

interface Options extends StoreOptions {
  state?: InboxState
  limit: number
  after?: string
}

export function createInboxListCommand(io: Io): Command {
  const command = new Command('list')
    .summary('list the deliveries of an inbox')
    .description('Lists the deliveries of an inbox, oldest first.')
    .addOption(
      new Option('--state <name>', 'only deliveries in this state').choices([
        'waiting',
        'active',
        'done',
        'dead',
      ]),
    )
    .option('--limit <n>', 'maximum number of deliveries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .option('--after <cursor>', 'cursor that the previous list printed, to continue after it')
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox list --state dead --store inbox.db',
    'geohook inbox list --limit 1000 --json --store-file store.txt',
  ])
  return command.action(async (options: Options) => {
    const { state, limit, after } = options
    const page = await withInbox(io, options, (inbox) => inbox.list({ state, limit, after }))
    if (io.json) return io.printJson(page)
    io.print(page.entries.length === 0 ? 'there are no deliveries' : await toEntryTable(io, page.entries))
    if (page.next !== undefined)
      io.print(io.colours.dim(`there may be more: --after ${printable(page.next)}`))
  })
}
