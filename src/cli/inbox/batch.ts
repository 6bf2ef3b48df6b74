import { type Command, InvalidArgumentError } from 'commander'
import type { DeliveryFilter, DurableInbox, InboxItem, InboxState, PurgeOptions } from '../../inbox/index.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { createRedactor } from '../../shared/redact.ts'
import { count } from '../../shared/words.ts'
import { type CliError, EXIT, failure, usageError } from '../errors.ts'
import { forEachConcurrently } from '../io/concurrently.ts'
import { addStoreOptions, type StoreOptions, withInbox } from '../io/store.ts'
import { CliCommand, toFlag } from '../options/command.ts'
import type { Io, Progress } from '../terminal/io.ts'
import { addFilterOptions, toFilter } from './list.ts'

export function deliveryId(value: string): string {
  if (/^[\da-f]{32}$/.test(value)) return value
  throw new InvalidArgumentError('must be 32 hex digits, as "geohook inbox list" shows them')
}

const HINT = '"geohook inbox list" shows the deliveries.'

export const deliveryNotFound = (id: string): CliError =>
  failure('not_found', `delivery ${id} not found in the inbox`, HINT)

/** Returns the headers of a delivery as in captures: a name and value pair for each value. Redacts secrets. */
export const headersOf = (io: Io, { delivery }: InboxItem): HeaderPairs =>
  createRedactor(io.secrets).headers(delivery.headers)

/** A state whose deliveries a command can process all together. */
type WholeState = PurgeOptions['state']

export type TargetOptions = StoreOptions & DeliveryFilter & { [state in WholeState]?: true } & { yes?: true }

/** The states whose deliveries can be retried. */
export const RETRIED: readonly WholeState[] = ['dead', 'unhandled']

const NOUNS: Readonly<Record<WholeState, [noun: string, plural: string]>> = {
  done: ['done delivery', 'done deliveries'],
  dead: ['dead letter', 'dead letters'],
  unhandled: ['unhandled delivery', 'unhandled deliveries'],
}

export function createBatchCommand(name: string, states: readonly WholeState[], condition = ''): CliCommand {
  const command = new CliCommand(name).argument(
    '[ids...]',
    'ids of the deliveries',
    (value: string, previous: readonly string[] = []) => [...new Set([...previous, deliveryId(value)])],
  )
  for (const state of states)
    command.option(`--${state}`, `${name} all ${NOUNS[state][1]}, or those that match${condition}`)
  return command.with(addFilterOptions)
}

/** Either the ids that the user gave, or all deliveries of a state that match. */
export type Targets = readonly string[] | All
type All<State = WholeState> = DeliveryFilter & { state: State }

const isAll = (targets: Targets): targets is All => 'state' in targets

/** @param withIds the only condition that is allowed with ids */
export function readTargets(
  ids: readonly string[],
  options: TargetOptions,
  states: readonly WholeState[],
  withIds?: keyof DeliveryFilter,
): Targets {
  const given = states.filter((state) => options[state])
  const flags = states.map(toFlag).join(' or ')
  if (given.length + Math.min(1, ids.length) !== 1)
    throw usageError(`give either ids${states.length > 1 ? ',' : ' or'} ${flags}`, HINT)
  const [state] = given
  const filter = toFilter(options)
  if (state) return { ...filter, state }
  const name = Object.keys(filter).find((name) => name !== withIds)
  if (name !== undefined) throw usageError(`${toFlag(name)} requires ${flags}`, HINT)
  return ids
}

export function createInboxRetryCommand(io: Io): Command {
  return createBatchCommand('retry', RETRIED)
    .summary('retry dead letters or unhandled deliveries')
    .description(
      'Makes dead letters, unhandled and waiting deliveries due. Dead letters get their full number of attempts ' +
        'again. The workers of the inbox handle them. The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .with(addStoreOptions)
    .examples(
      'geohook inbox retry 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox retry --dead --error ECONNREFUSED --store-file store.txt',
    )
    .action((ids: string[] = [], options: TargetOptions) =>
      change(io, readTargets(ids, options, RETRIED, 'handler'), options, {
        verbs: ['retrying', 'retried'],
        one: (inbox, id) => inbox.retry(id, options.handler),
        all: (inbox, all) => inbox.retry(all as All<'dead' | 'unhandled'>),
      }),
    )
}

export function createInboxRerunCommand(io: Io): Command {
  return createBatchCommand('rerun', ['done'], '; requires --yes')
    .summary('handle done deliveries again')
    .description(
      'Makes done deliveries due again, with their full number of attempts. The workers of the inbox handle them, ' +
        'with "rerun" in the context of the handlers. The exit code is 1 if a delivery was missing or not done.',
    )
    .option('--yes', 'with --done: confirm the rerun')
    .with(addStoreOptions)
    .examples(
      'geohook inbox rerun 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox rerun --done --newer-than 2h --handler erp --yes --store inbox.db',
    )
    .action((ids: string[] = [], options: TargetOptions) =>
      change(io, confirmed(readTargets(ids, options, ['done'], 'handler'), options, 'handles'), options, {
        verbs: ['rerunning', 'rerun'],
        one: (inbox, id) => inbox.rerun(id, options.handler),
        all: (inbox, all) => inbox.rerun(all as All<'done'>),
      }),
    )
}

export function createInboxDiscardCommand(io: Io): Command {
  return createBatchCommand('discard', RETRIED, '; requires --yes')
    .summary('remove deliveries permanently')
    .description(
      'Removes dead letters, unhandled, waiting or done deliveries permanently. If the sender sends ' +
        'one again, the inbox no longer recognizes it, and handles it. The exit code is 1 if a delivery was missing or being handled.',
    )
    .option('--yes', 'with --dead or --unhandled: confirm that they are removed')
    .with(addStoreOptions)
    .examples(
      'geohook inbox discard 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox discard --dead --yes --store inbox.db',
    )
    .action((ids: string[] = [], options: TargetOptions) =>
      change(io, confirmed(readTargets(ids, options, RETRIED, 'handler'), options, 'discards'), options, {
        verbs: ['discarding', 'discarded'],
        one: (inbox, id) => inbox.discard(id, options.handler),
        // Uses purge(), because discard() would also remove a dead letter that another process has just retried.
        all: (inbox, all) => inbox.purge(all),
      }),
    )
}

/** @throws {CliError} exit code 2 without `--yes`, unless the user gave ids */
function confirmed(targets: Targets, { yes }: TargetOptions, verb: string): Targets {
  if (yes || !isAll(targets)) return targets
  const { state, ...filter } = targets
  const which = Object.keys(filter).length > 0 ? 'the matching' : 'all'
  const end = state === 'done' ? 'again' : 'permanently'
  throw usageError(`--${state} ${verb} ${which} ${NOUNS[state][1]} ${end}`, 'Add --yes to confirm.')
}

export function createInboxPurgeCommand(io: Io): Command {
  return new CliCommand('purge')
    .summary('remove the deliveries of a state')
    .description(
      'Removes done deliveries, dead letters or unhandled deliveries permanently: all, or those that match. ' +
        'A removed delivery is not recognized as a duplicate if it is sent again.',
    )
    .requiredChoice('--state <name>', 'state of the deliveries to remove', ['done', 'dead', 'unhandled'])
    .with(addFilterOptions)
    .with(addStoreOptions)
    .examples(
      'geohook inbox purge --state done --older-than 7d --store inbox.db',
      'geohook inbox purge --state dead --older-than 12h --store-file store.txt',
    )
    .action(async (options: StoreOptions & PurgeOptions) => {
      const { state } = options
      const filter = toFilter(options)
      const { olderThan: _, ...others } = filter
      const { removed, of } = await withInbox(io, options, async (inbox, progress) => {
        progress.update(`removing ${state} deliveries`)
        return {
          of: await countAll(inbox, { ...others, state }),
          removed: await inbox.purge({ ...filter, state }),
        }
      })
      const text = of === undefined ? count(removed, 'delivery', 'deliveries') : ofAll(removed, of, state)
      io.printResult({ removed, of }, `${text} removed`)
    })
}

/** A delivery that a command could not process. `state` is undefined if the inbox has no such delivery or fate. */
interface RefusedDelivery {
  id: string
  state: InboxState | undefined
}

interface Applied {
  done: number
  /** Number of deliveries in the state, if conditions selected some of them. */
  of?: number | undefined
  refused: RefusedDelivery[]
}

/** Resolves to false if the delivery is unknown or in the wrong state. */
type Operation<Target = string, Result = boolean> = (inbox: DurableInbox, target: Target) => Promise<Result>

interface Change {
  /** For the progress report and the result, for example `retrying` and `retried`. */
  verbs: readonly [string, string]
  one: Operation
  /** Resolves with the number of deliveries. */
  all: Operation<All, number>
}

/** Changes the named deliveries one by one, or all of a state with one call, and reports the result. */
async function change(io: Io, targets: Targets, options: TargetOptions, change: Change): Promise<void> {
  const { verbs, one, all } = change
  const applied = isAll(targets)
    ? await withInbox(io, options, async (inbox) => {
        const of = await countAll(inbox, targets)
        return { done: await all(inbox, targets), of, refused: [] }
      })
    : await apply(io, targets, options, verbs[0], one)
  report(io, targets, applied, verbs[1], options)
}

/** Counts the deliveries of the state if there are conditions. */
async function countAll(inbox: DurableInbox, { state, ...filter }: All): Promise<number | undefined> {
  return Object.keys(filter).length > 0 ? (await inbox.stats())[state] : undefined
}

/**
 * Applies an operation to the named deliveries, or to each one that matches.
 *
 * @param verb shown in the progress report, for example `exporting`
 */
export async function apply(
  io: Io,
  targets: Targets,
  options: TargetOptions,
  verb: string,
  operation: Operation,
): Promise<Applied> {
  let tried = 0
  let of: number | undefined
  const refused: RefusedDelivery[] = []
  await withInbox(io, options, async (inbox, progress) => {
    if (isAll(targets)) of = await countAll(inbox, targets)
    for await (const ids of isAll(targets) ? listAll(inbox, targets) : [targets]) {
      tried += ids.length
      refused.push(...(await applyToEach(inbox, ids, operation, { progress, verb, ...options })))
    }
  })
  return { done: tried - refused.length, of, refused }
}

/** Maximum number of concurrent operations. Each operation waits for a round trip to the server. */
const CONCURRENCY = 8

/** Returns the deliveries for which `operation` resolved to false, in the order of `ids`. */
async function applyToEach(
  inbox: DurableInbox,
  ids: readonly string[],
  operation: Operation,
  { progress, verb, handler }: { progress: Progress; verb: string; handler?: string | undefined },
): Promise<RefusedDelivery[]> {
  const refused = new Map<string, RefusedDelivery>()
  let done = 0
  await forEachConcurrently(ids.values(), CONCURRENCY, async (id) => {
    if (!(await operation(inbox, id))) refused.set(id, { id, state: await findState(inbox, id, handler) })
    done++
    progress.update(`${verb}, ${done} of ${ids.length}`)
  })
  return ids.flatMap((id) => refused.get(id) ?? [])
}

/** Returns the state of a delivery, or of its fate with the handlers of a name. */
async function findState(inbox: DurableInbox, id: string, handler?: string): Promise<InboxState | undefined> {
  const item = await inbox.get(id)
  if (handler === undefined) return item?.state
  return item?.fates.find((fate) => (fate.handler ?? '') === handler)?.state
}

/** The deliveries that an export has written, and those that an earlier export had written. */
type Exported = Record<'exported' | 'alreadyThere', { id: string; file: string }[]>

/**
 * Prints the result for each delivery, and a summary. The exit code becomes 1 if a named delivery was refused.
 *
 * @param verb the past participle, for example `retried`
 */
export function report(
  io: Io,
  targets: Targets,
  { done, of, refused }: Applied,
  verb: string,
  { handler }: TargetOptions,
  lists?: Exported,
): void {
  // A delivery that is not named does not count as a failure if another process has just retried or removed it.
  const failed = isAll(targets) ? [] : refused
  if (failed.length > 0) io.exitCode = EXIT.failure
  const existing = new Set(lists?.alreadyThere.map(({ id }) => id))
  const processed = done - existing.size
  const rest = existing.size > 0 ? `, ${existing.size} already there` : ''
  io.printResult(
    { ...(lists ?? { [verb]: done }), of, refused: failed.map(({ id, state = null }) => ({ id, state })) },
    () => {
      if (isAll(targets)) {
        const [noun, plural] = NOUNS[targets.state]
        const text = of === undefined ? count(processed, noun, plural) : ofAll(processed, of, targets.state)
        return io.print(of === undefined && done === 0 ? `there are no ${plural}` : `${text} ${verb}${rest}`)
      }
      const states = new Map(refused.map(({ id, state }) => [id, state]))
      for (const id of targets) {
        if (existing.has(id)) io.print(`already there ${id}`)
        else if (!states.has(id)) io.print(`${io.colours.green(verb)} ${id}`)
        else io.print(`${io.colours.red(`not ${verb}`)} ${id}: ${whyRefused(states.get(id), handler)}`)
      }
      io.print(
        io.colours.dim(`${count(processed, 'delivery', 'deliveries')} ${verb}${rest}, of ${targets.length}`),
      )
      if (verb === 'discarded' && done > 0) io.print(io.colours.dim(FORGETS))
    },
  )
}

/** For example `12 of 300 dead letters`. */
const ofAll = (part: number, all: number, state: WholeState): string =>
  `${part} of ${count(Math.max(part, all), ...NOUNS[state])}`

const FORGETS =
  'if one is sent again, the inbox stores and handles it, unless it keeps the delivery for other handlers'

function whyRefused(state: InboxState | undefined, handler: string | undefined): string {
  if (state === undefined) return `it is not in the inbox${handler === undefined ? '' : ' for this handler'}`
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}

const PAGE_SIZE = 1_000

/** Maximum number of passes over the list, because new deliveries may keep appearing. */
const MAX_PASSES = 10

/**
 * Yields the ids of all deliveries in a state that match, each id once. Lists them repeatedly until a pass finds no new
 * id, because a single pass can miss some: pages shift while other processes change deliveries.
 */
export async function* listAll(inbox: DurableInbox, all: All): AsyncGenerator<string[], void, void> {
  const known = new Set<string>()
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const ids = (await listOnce(inbox, all)).filter((id) => !known.has(id))
    if (ids.length === 0) return
    for (const id of ids) known.add(id)
    yield ids
  }
}

/** Reads all pages before it returns, because changing deliveries in between would shift the pages. */
async function listOnce(inbox: DurableInbox, all: All): Promise<string[]> {
  const ids = new Set<string>()
  let after: string | undefined
  do {
    const { entries, next } = await inbox.list({ ...all, limit: PAGE_SIZE, after })
    for (const { id } of entries) ids.add(id)
    after = next
  } while (after !== undefined)
  return [...ids]
}
