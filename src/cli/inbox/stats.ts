import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import { print, printJson } from '../terminal/output.ts'
import { toTable } from '../terminal/table.ts'
import { toAge } from './entry-table.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store/open.ts'

/** `geohook inbox stats`: how an inbox is, in numbers. */
export function createInboxStatsCommand(): Command {
  const command = new Command('stats')
    .summary('count the deliveries of an inbox by their state')
    .description('Counts the deliveries of an inbox by their state, and tells how long the oldest waits.')
  addStoreOptions(command)
  addExamples(command, ['geohook inbox stats --store inbox.db'])
  return command.action(async (options: StoreOptions) => {
    const { waiting, active, done, dead, oldest } = await withInbox(options, (inbox) => inbox.stats())
    const counts = { waiting, active, done, dead }
    const age = oldest && Math.max(0, Date.now() - oldest.getTime())
    if (options.json) return printJson({ ...counts, oldest, age })
    const rows = Object.entries(counts).map(([state, number]) => [state, String(number)])
    print(await toTable(['state', 'deliveries'], rows))
    if (oldest && age !== undefined) print(`oldest waiting: ${oldest.toISOString()}, ${toAge(age)} ago`)
  })
}
