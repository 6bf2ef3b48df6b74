import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { printItem, toItemJson } from './item.ts'
import { withInbox } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'
import { deliveryId, deliveryNotFound } from './targets.ts'

export function createInboxShowCommand(io: Io): Command {
  const command = new Command('show')
    .summary('show one delivery with its headers and body')
    .description(
      'Shows everything about one delivery, and the first 16 KiB of a text body. ' +
        '"geohook inbox export" writes the exact bytes.',
    )
    .argument('<id>', 'id of the delivery', deliveryId)
  addStoreOptions(command)
  addExamples(command, ['geohook inbox show 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db'])
  return command.action(async (id: string, options: StoreOptions) => {
    const item = await withInbox(io, options, (inbox) => inbox.get(id))
    if (!item) throw deliveryNotFound(id)
    if (io.json) io.printJson(toItemJson(io, item))
    else printItem(io, item)
  })
}
