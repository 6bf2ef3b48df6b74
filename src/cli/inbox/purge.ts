import { Command, Option } from 'commander'
import { duration } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { countDeliveries } from './batch.ts'
import { withInbox } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'

interface Options extends StoreOptions {
  state: 'done' | 'dead'
  olderThan?: number
}

export function createInboxPurgeCommand(io: Io): Command {
  const command = new Command('purge')
    .summary('remove done deliveries or dead letters')
    .description(
      'Removes done deliveries or dead letters permanently. ' +
        'A removed delivery is not recognized as a duplicate if it is sent again.',
    )
    .addOption(
      new Option('--state <name>', 'state of the deliveries to remove')
        .choices(['done', 'dead'])
        .makeOptionMandatory(),
    )
    .option(
      '--older-than <time>',
      'only deliveries that ended longer ago than this, for example 90s, 15m, 12h or 7d',
      duration,
    )
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox purge --state done --older-than 7d --store inbox.db',
    'geohook inbox purge --state dead --older-than 12h --store-file store.txt',
  ])
  return command.action(async (options: Options) => {
    const { state, olderThan } = options
    const removed = await withInbox(io, options, (inbox, progress) => {
      progress.update(`removing ${state} deliveries`)
      return inbox.purge({ state, olderThan })
    })
    if (io.json) io.printJson({ removed })
    else io.print(`${countDeliveries(removed)} removed`)
  })
}
