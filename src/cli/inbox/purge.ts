import { Command, Option } from 'commander'
import { duration } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import { print, printJson } from '../terminal/output.ts'
import { deliveries } from './entry-table.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store/open.ts'

interface Options extends StoreOptions {
  state: 'done' | 'dead'
  olderThan?: number
}

/** `geohook inbox purge`: removes what has ended. */
export function createInboxPurgeCommand(): Command {
  const command = new Command('purge')
    .summary('remove deliveries that are done, or dead letters')
    .description(
      'Removes deliveries that are done, or dead letters, for good. ' +
        'What was done and is removed is no longer known as a duplicate if it comes again.',
    )
    .addOption(
      new Option('--state <name>', 'which to remove').choices(['done', 'dead']).makeOptionMandatory(),
    )
    .option('--older-than <time>', 'only what ended so long ago, like 90s, 15m, 12h or 7d', duration)
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox purge --state done --older-than 7d --store inbox.db',
    'geohook inbox purge --state dead --older-than 12h --store-file store.txt',
  ])
  return command.action(async (options: Options) => {
    const { state, olderThan, json } = options
    const removed = await withInbox(options, (inbox, progress) => {
      progress.update(`removing what is ${state}`)
      return inbox.purge({ state, olderThan })
    })
    if (json) printJson({ removed })
    else print(`${deliveries(removed)} removed`)
  })
}
