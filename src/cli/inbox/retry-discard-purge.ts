import { Command, Option } from 'commander'
import { EXIT, usageError } from '../errors.ts'
import { duration } from '../options/values.ts'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import {
  applyToEach,
  countDeliveries,
  deadLetters,
  deliveryIds,
  printDeadLetters,
  printEach,
  type RefusedDelivery,
  requireTargets,
  toRefusedJson,
} from './batch.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store.ts'

interface RetryOptions extends StoreOptions {
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
  return command.action(async (named: string[] = [], options: RetryOptions) => {
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

interface DiscardOptions extends StoreOptions {
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
  return command.action(async (ids: string[] = [], options: DiscardOptions) => {
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

interface PurgeOptions extends StoreOptions {
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
  return command.action(async (options: PurgeOptions) => {
    const { state, olderThan } = options
    const removed = await withInbox(io, options, (inbox, progress) => {
      progress.update(`removing ${state} deliveries`)
      return inbox.purge({ state, olderThan })
    })
    if (io.json) io.printJson({ removed })
    else io.print(`${countDeliveries(removed)} removed`)
  })
}
