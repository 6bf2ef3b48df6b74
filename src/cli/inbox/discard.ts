import { Command } from 'commander'
import { EXIT, usageError } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import { printJson } from '../terminal/output.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store/open.ts'
import {
  applyToEach,
  deliveryIds,
  type Refused,
  refusedJson,
  requireTargets,
  tellDead,
  tellEach,
} from './targets.ts'

interface Options extends StoreOptions {
  dead?: true
  yes?: true
}

/** `geohook inbox discard`: removes deliveries for good. */
export function createInboxDiscardCommand(): Command {
  const command = new Command('discard')
    .summary('remove deliveries for good')
    .description(
      'Removes dead letters, or deliveries that wait, for good. ' +
        'The exit code is 1 if one was not there, or done, or at work.',
    )
    .argument('[ids...]', 'the deliveries', deliveryIds)
    .option('--dead', 'discard all dead letters; --yes must be there too')
    .option('--yes', 'with --dead: really all of them')
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox discard 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
    'geohook inbox discard --dead --yes --store inbox.db',
  ])
  return command.action(async (ids: string[] = [], options: Options) => {
    const { dead, yes, json } = options
    requireTargets(ids, dead)
    if (dead && !yes) throw usageError('--dead discards all dead letters, for good', 'Add --yes to do so.')
    let refused: Refused[] = []
    const discarded = await withInbox(options, async (inbox, progress) => {
      // Only what is dead at that moment: by its id, one that somebody has just retried would go too.
      if (dead) return inbox.purge({ state: 'dead' })
      const act = (id: string): Promise<boolean> => inbox.discard(id)
      refused = await applyToEach(inbox, ids, act, { progress, verb: 'discarding' })
      return ids.length - refused.length
    })
    if (json) printJson({ discarded, refused: refusedJson(refused) })
    else if (dead) tellDead(discarded, 'discarded')
    else tellEach(ids, refused, 'discarded')
    if (refused.length > 0) process.exitCode = EXIT.no
  })
}
