import { Command } from 'commander'
import { EXIT } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { applyToEach, printDeadLetters, printEach, type RefusedDelivery, toRefusedJson } from './batch.ts'
import { withInbox } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'
import { deadLetters, deliveryIds, requireTargets } from './targets.ts'

interface Options extends StoreOptions {
  dead?: true
}

export function createInboxRetryCommand(io: Io): Command {
  const command = new Command('retry')
    .summary('retry dead letters')
    .description(
      'Returns dead letters to the waiting state with a full number of attempts, and makes waiting deliveries due. ' +
        'The workers of the inbox handle them. The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .argument('[ids...]', 'ids of the deliveries', deliveryIds)
    .option('--dead', 'retry all dead letters')
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox retry 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
    'geohook inbox retry --dead --store-file store.txt',
  ])
  return command.action(async (named: string[] = [], options: Options) => {
    const { dead } = options
    requireTargets(named, dead)
    let tried = 0
    const refused: RefusedDelivery[] = []
    await withInbox(io, options, async (inbox, progress) => {
      const retry = (id: string): Promise<boolean> => inbox.retry(id)
      for await (const ids of dead ? deadLetters(inbox) : [named]) {
        tried += ids.length
        refused.push(...(await applyToEach(inbox, ids, retry, { progress, verb: 'retrying' })))
      }
    })
    const retried = tried - refused.length
    // With --dead, a dead letter that another process has just retried or removed does not count as a failure.
    const failed = dead ? [] : refused
    if (io.json) io.printJson({ retried, refused: toRefusedJson(failed) })
    else if (dead) printDeadLetters(io, retried, 'retried')
    else printEach(io, named, refused, 'retried')
    if (failed.length > 0) io.exitCode = EXIT.failure
  })
}
