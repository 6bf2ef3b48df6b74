import { Command } from 'commander'
import { EXIT, usageError } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { applyToEach, printDeadLetters, printEach, type RefusedDelivery, toRefusedJson } from './batch.ts'
import { withInbox } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'
import { deliveryIds, requireTargets } from './targets.ts'

interface Options extends StoreOptions {
  dead?: true
  yes?: true
}

export function createInboxDiscardCommand(io: Io): Command {
  const command = new Command('discard')
    .summary('remove deliveries permanently')
    .description(
      'Removes dead letters or waiting deliveries permanently. ' +
        'The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .argument('[ids...]', 'ids of the deliveries', deliveryIds)
    .option('--dead', 'discard all dead letters; requires --yes')
    .option('--yes', 'with --dead: confirm that they are removed')
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox discard 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
    'geohook inbox discard --dead --yes --store inbox.db',
  ])
  return command.action(async (ids: string[] = [], options: Options) => {
    const { dead, yes } = options
    requireTargets(ids, dead)
    if (dead && !yes)
      throw usageError('--dead discards all dead letters permanently', 'Add --yes to confirm.')
    let refused: RefusedDelivery[] = []
    const discarded = await withInbox(io, options, async (inbox, progress) => {
      // Uses purge(), because discard() would also remove a dead letter that another process has just retried.
      if (dead) return inbox.purge({ state: 'dead' })
      const discard = (id: string): Promise<boolean> => inbox.discard(id)
      refused = await applyToEach(inbox, ids, discard, { progress, verb: 'discarding' })
      return ids.length - refused.length
    })
    if (io.json) io.printJson({ discarded, refused: toRefusedJson(refused) })
    else if (dead) printDeadLetters(io, discarded, 'discarded')
    else printEach(io, ids, refused, 'discarded')
    if (refused.length > 0) io.exitCode = EXIT.failure
  })
}
