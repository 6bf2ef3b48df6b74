import type { Command } from 'commander'
import type { DurableInbox } from '../../inbox/index.ts'
import { count } from '../../shared/words.ts'
import { EXIT, usageError } from '../errors.ts'
import { CliCommand } from '../options/command.ts'
import { duration } from '../options/values.ts'
import type { Io, Progress } from '../terminal/io.ts'
import {
  addTargets,
  deadLetters,
  printEach,
  type RefusedDelivery,
  requireTargets,
  type TargetOptions,
  toDeadLetterText,
  toRefusedJson,
} from './batch.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store.ts'

export function createInboxRetryCommand(io: Io): Command {
  return new CliCommand('retry')
    .summary('retry dead letters')
    .description(
      'Returns dead letters to the waiting state with a full number of attempts, and makes waiting deliveries due. ' +
        'The workers of the inbox handle them. The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .with((command) => addTargets(command, 'retry all dead letters'))
    .with(addStoreOptions)
    .examples(
      'geohook inbox retry 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox retry --dead --store-file store.txt',
    )
    .action(async (ids: string[] = [], options: TargetOptions) => {
      requireTargets(ids, options)
      const { applied, refused } = await apply(io, ids, options, 'retrying', (inbox, id) => inbox.retry(id))
      // With --dead, a dead letter that another process has just retried or removed does not count as a failure.
      const failed = options.dead ? [] : refused
      io.printResult({ retried: applied, refused: toRefusedJson(failed) }, () => {
        if (options.dead) io.print(toDeadLetterText(applied, 'retried'))
        else printEach(io, ids, refused, 'retried')
      })
      if (failed.length > 0) io.exitCode = EXIT.failure
    })
}

export function createInboxDiscardCommand(io: Io): Command {
  return new CliCommand('discard')
    .summary('remove deliveries permanently')
    .description(
      'Removes dead letters or waiting deliveries permanently. ' +
        'The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .with((command) => addTargets(command, 'discard all dead letters; requires --yes'))
    .option('--yes', 'with --dead: confirm that they are removed')
    .with(addStoreOptions)
    .examples(
      'geohook inbox discard 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox discard --dead --yes --store inbox.db',
    )
    .action(async (ids: string[] = [], options: TargetOptions & { yes?: true }) => {
      requireTargets(ids, options)
      if (options.dead) {
        if (!options.yes)
          throw usageError('--dead discards all dead letters permanently', 'Add --yes to confirm.')
        // Uses purge(), because discard() would also remove a dead letter that another process has just retried.
        const discarded = await withInbox(io, options, (inbox) => inbox.purge({ state: 'dead' }))
        return io.printResult({ discarded, refused: [] }, toDeadLetterText(discarded, 'discarded'))
      }
      const { applied, refused } = await apply(io, ids, options, 'discarding', (inbox, id) =>
        inbox.discard(id),
      )
      io.printResult({ discarded: applied, refused: toRefusedJson(refused) }, () =>
        printEach(io, ids, refused, 'discarded'),
      )
      if (refused.length > 0) io.exitCode = EXIT.failure
    })
}

interface PurgeOptions extends StoreOptions {
  state: 'done' | 'dead'
  olderThan?: number
}

export function createInboxPurgeCommand(io: Io): Command {
  return new CliCommand('purge')
    .summary('remove done deliveries or dead letters')
    .description(
      'Removes done deliveries or dead letters permanently. ' +
        'A removed delivery is not recognized as a duplicate if it is sent again.',
    )
    .requiredChoice('--state <name>', 'state of the deliveries to remove', ['done', 'dead'])
    .option(
      '--older-than <time>',
      'only deliveries that ended longer ago than this, for example 90s, 15m, 12h or 7d',
      duration,
    )
    .with(addStoreOptions)
    .examples(
      'geohook inbox purge --state done --older-than 7d --store inbox.db',
      'geohook inbox purge --state dead --older-than 12h --store-file store.txt',
    )
    .action(async (options: PurgeOptions) => {
      const { state, olderThan } = options
      const removed = await withInbox(io, options, (inbox, progress) => {
        progress.update(`removing ${state} deliveries`)
        return inbox.purge({ state, olderThan })
      })
      io.printResult({ removed }, `${count(removed, 'delivery', 'deliveries')} removed`)
    })
}

type Operation = (inbox: DurableInbox, id: string) => Promise<boolean>

/**
 * Applies an operation to the named deliveries, or to all dead letters.
 *
 * @param verb shown in the progress report, for example `retrying`
 * @param operation resolves to false if the delivery is unknown or in the wrong state
 */
async function apply(
  io: Io,
  named: readonly string[],
  options: TargetOptions,
  verb: string,
  operation: Operation,
): Promise<{ applied: number; refused: RefusedDelivery[] }> {
  let tried = 0
  const refused: RefusedDelivery[] = []
  await withInbox(io, options, async (inbox, progress) => {
    for await (const ids of options.dead ? deadLetters(inbox) : [named]) {
      tried += ids.length
      refused.push(...(await applyToEach(inbox, ids, operation, { progress, verb })))
    }
  })
  return { applied: tried - refused.length, refused }
}

/** Maximum number of concurrent operations. Each operation waits for a round trip to the server. */
const CONCURRENCY = 8

/** Returns the deliveries for which `operation` resolved to false, in the order of `ids`. */
async function applyToEach(
  inbox: DurableInbox,
  ids: readonly string[],
  operation: Operation,
  { progress, verb }: { progress: Progress; verb: string },
): Promise<RefusedDelivery[]> {
  const refused = new Map<string, RefusedDelivery>()
  const pending = ids.values()
  let done = 0
  async function work(): Promise<void> {
    for (const id of pending) {
      if (!(await operation(inbox, id))) refused.set(id, { id, state: (await inbox.get(id))?.state })
      done++
      progress.update(`${verb}, ${done} of ${ids.length}`)
    }
  }
  // All calls of work() share one iterator, so each id is processed once.
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return ids.flatMap((id) => refused.get(id) ?? [])
}
