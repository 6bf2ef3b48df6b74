import { Command } from 'commander'
import { EXIT } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import { printJson } from '../terminal/output.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store/open.ts'
import {
  applyToEach,
  deadLetters,
  deliveryIds,
  type Refused,
  refusedJson,
  requireTargets,
  tellDead,
  tellEach,
} from './targets.ts'

interface Options extends StoreOptions {
  dead?: true
}

/** `geohook inbox retry`: lets dead letters be handled again. */
export function createInboxRetryCommand(): Command {
  const command = new Command('retry')
    .summary('let dead letters be handled again')
    .description(
      'Makes dead letters wait again, with all their attempts, and deliveries that wait due now. ' +
        'Whatever works on the inbox handles them. The exit code is 1 if one was not there, or done, or at work.',
    )
    .argument('[ids...]', 'the deliveries', deliveryIds)
    .option('--dead', 'retry all dead letters')
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox retry 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
    'geohook inbox retry --dead --store-file store.txt',
  ])
  return command.action(async (named: string[] = [], options: Options) => {
    const { dead, json } = options
    requireTargets(named, dead)
    let tried = 0
    const refused: Refused[] = []
    await withInbox(options, async (inbox, progress) => {
      const act = (id: string): Promise<boolean> => inbox.retry(id)
      for await (const ids of dead ? deadLetters(inbox) : [named]) {
        tried += ids.length
        refused.push(...(await applyToEach(inbox, ids, act, { progress, verb: 'retrying' })))
      }
    })
    const retried = tried - refused.length
    // Of all dead letters, one that somebody else has retried or removed meanwhile is none any more.
    const failed = dead ? [] : refused
    if (json) printJson({ retried, refused: refusedJson(failed) })
    else if (dead) tellDead(retried, 'retried')
    else tellEach(named, refused, 'retried')
    if (failed.length > 0) process.exitCode = EXIT.no
  })
}
