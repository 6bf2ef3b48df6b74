import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import { printJson } from '../terminal/output.ts'
import { tellItem, toItemJson } from './item.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store/open.ts'
import { deliveryId, noDelivery } from './targets.ts'

/** `geohook inbox show`: one delivery, with its headers and its body. */
export function createInboxShowCommand(): Command {
  const command = new Command('show')
    .summary('show one delivery with its headers and its body')
    .description(
      'Shows all about one delivery. Of a body that is text, the first 16 KiB are shown; ' +
        '"geohook inbox export" has the exact bytes.',
    )
    .argument('<id>', 'the delivery', deliveryId)
  addStoreOptions(command)
  addExamples(command, ['geohook inbox show 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db'])
  return command.action(async (id: string, options: StoreOptions) => {
    const item = await withInbox(options, (inbox) => inbox.get(id))
    if (!item) throw noDelivery(id)
    if (options.json) printJson(toItemJson(item))
    else tellItem(item)
  })
}
