import { createHash } from 'node:crypto'
import { type Command, InvalidArgumentError } from 'commander'
import type { DurableInbox, InboxItem, InboxState, PurgeOptions } from '../../inbox/index.ts'
import type { HeaderPairs } from '../../shared/headers.ts'
import { createRedactor } from '../../shared/redact.ts'
import { count } from '../../shared/words.ts'
import { type CliError, EXIT, failure, usageError } from '../errors.ts'
import { type Capture, requireFolder, saveCapture, toCaptureFile, toCaptureJson } from '../io/captures.ts'
import { forEachConcurrently } from '../io/concurrently.ts'
import { CliCommand } from '../options/command.ts'
import { duration } from '../options/values.ts'
import { type Io, type Progress, printable } from '../terminal/io.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store.ts'

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

interface TargetOptions extends StoreOptions {
  dead?: true
  unhandled?: true
  handler?: string
}

/** A state whose deliveries a command can process all together. */
type WholeState = 'dead' | 'unhandled'

const NOUNS = {
  dead: ['dead letter', 'dead letters'],
  unhandled: ['unhandled delivery', 'unhandled deliveries'],
} as const

const createCommand = (name: string, condition = ''): CliCommand =>
  new CliCommand(name)
    .argument('[ids...]', 'ids of the deliveries', (value: string, previous: readonly string[] = []) => [
      ...new Set([...previous, deliveryId(value)]),
    ])
    .option('--dead', `${name} all dead letters${condition}`)
    .option('--unhandled', `${name} all unhandled deliveries${condition}`)

const addHandlerOption = (command: CliCommand): CliCommand =>
  command.option('--handler <name>', 'with ids: only for handlers with this name; "" for those without one')

/** Returns the state whose deliveries are all meant, or undefined if there are ids. */
function readTargets(ids: readonly string[], options: TargetOptions): WholeState | undefined {
  const { dead, unhandled, handler } = options
  if ([ids.length > 0, dead, unhandled].filter(Boolean).length !== 1)
    throw usageError('give either ids, --dead or --unhandled', HINT)
  if (handler !== undefined && ids.length === 0) throw usageError('--handler requires ids', HINT)
  return dead ? 'dead' : unhandled && 'unhandled'
}

export function createInboxRetryCommand(io: Io): Command {
  return createCommand('retry')
    .summary('retry dead letters or unhandled deliveries')
    .description(
      'Makes dead letters, unhandled and waiting deliveries due. Dead letters get their full number of attempts ' +
        'again. The workers of the inbox handle them. The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .with(addHandlerOption)
    .with(addStoreOptions)
    .examples(
      'geohook inbox retry 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox retry --dead --store-file store.txt',
    )
    .action(async (ids: string[] = [], options: TargetOptions) => {
      const state = readTargets(ids, options)
      const applied = state
        ? { done: await withInbox(io, options, (inbox) => inbox.retry({ state })), refused: [] }
        : await apply(io, ids, options, 'retrying', (inbox, id) => inbox.retry(id, options.handler))
      report(io, ids, state, applied, 'retried', options)
    })
}

export function createInboxDiscardCommand(io: Io): Command {
  return createCommand('discard', '; requires --yes')
    .summary('remove deliveries permanently')
    .description(
      'Removes dead letters, unhandled or waiting deliveries permanently. ' +
        'The exit code is 1 if a delivery was missing, done or being handled.',
    )
    .option('--yes', 'with --dead or --unhandled: confirm that they are removed')
    .with(addHandlerOption)
    .with(addStoreOptions)
    .examples(
      'geohook inbox discard 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
      'geohook inbox discard --dead --yes --store inbox.db',
    )
    .action(async (ids: string[] = [], options: TargetOptions & { yes?: true }) => {
      const state = readTargets(ids, options)
      if (state && !options.yes)
        throw usageError(`--${state} discards all ${NOUNS[state][1]} permanently`, 'Add --yes to confirm.')
      const applied = state
        ? // Uses purge(), because discard() would also remove a dead letter that another process has just retried.
          { done: await withInbox(io, options, (inbox) => inbox.purge({ state })), refused: [] }
        : await apply(io, ids, options, 'discarding', (inbox, id) => inbox.discard(id, options.handler))
      report(io, ids, state, applied, 'discarded', options)
    })
}

export function createInboxPurgeCommand(io: Io): Command {
  return new CliCommand('purge')
    .summary('remove all deliveries of a state')
    .description(
      'Removes done deliveries, dead letters or unhandled deliveries permanently. ' +
        'A removed delivery is not recognized as a duplicate if it is sent again.',
    )
    .requiredChoice('--state <name>', 'state of the deliveries to remove', ['done', 'dead', 'unhandled'])
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
    .action(async (options: StoreOptions & PurgeOptions) => {
      const { state, olderThan } = options
      const removed = await withInbox(io, options, (inbox, progress) => {
        progress.update(`removing ${state} deliveries`)
        return inbox.purge({ state, olderThan })
      })
      io.printResult({ removed }, `${count(removed, 'delivery', 'deliveries')} removed`)
    })
}

export function createInboxExportCommand(io: Io): Command {
  return createCommand('export')
    .summary('write deliveries as captures for replay')
    .description(
      'Writes deliveries as captures for "geohook replay": the exact bytes with their original headers. ' +
        'The deliveries stay in the inbox, which treats a replay as a duplicate. To handle them again in the same ' +
        'inbox, use "retry", or "discard" them before the replay. Captures of an earlier export are skipped. ' +
        'The exit code is 1 if a delivery was not in the inbox.',
    )
    .option('--out <folder>', 'folder for the captures; without it, prints a single capture')
    .with(addStoreOptions)
    .examples(
      'geohook inbox export --dead --out captures --store inbox.db',
      'geohook inbox export 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
    )
    .action(async (ids: string[] = [], options: TargetOptions & { out?: string }) => {
      const state = readTargets(ids, options)
      if (options.out !== undefined) return exportTo(io, options.out, ids, state, options)
      const [id, ...rest] = ids
      if (id === undefined || rest.length > 0)
        throw usageError('only one capture can be printed', 'Give a folder with --out.')
      const item = await withInbox(io, options, (inbox) => inbox.get(id))
      if (!item) throw deliveryNotFound(id)
      io.printJson(toCaptureJson(toCapture(io, item)))
    })
}

async function exportTo(
  io: Io,
  folder: string,
  ids: readonly string[],
  state: WholeState | undefined,
  options: StoreOptions,
): Promise<void> {
  const exported: { id: string; file: string }[] = []
  /** Deliveries that an earlier export has already written. */
  const alreadyThere: typeof exported = []
  await requireFolder(folder)
  const applied = await apply(io, state ?? ids, options, 'exporting', async (inbox, id) => {
    const item = await inbox.get(id)
    if (!item) return false
    const { file, isNew } = await save(toCapture(io, item), id, folder)
    const list = isNew ? exported : alreadyThere
    list.push({ id, file })
    return true
  })
  for (const list of [exported, alreadyThere]) list.sort((a, b) => (a.file < b.file ? -1 : 1))
  if (!io.json) for (const { file } of exported) io.print(printable(file))
  report(io, ids, state, applied, 'exported', {}, { exported, alreadyThere })
}

/** Saves a delivery. Every export gives it the same file name, so an existing file is from an earlier export. */
async function save(capture: Capture, id: string, folder: string): Promise<{ file: string; isNew: boolean }> {
  // Hashes ids in an unexpected format, so that a manipulated id in the store cannot change the path.
  const label = /^[\da-f]{32}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')
  const file = toCaptureFile(folder, capture, label)
  try {
    await saveCapture(file, capture)
    return { file, isNew: true }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return { file, isNew: false }
    throw usageError(`cannot save in ${folder}: ${code ?? message}`, 'Give another folder.')
  }
}

/** Inboxes store no method or URL, so captures get fixed ones: deliveries are POST, and `replay` requires a URL. */
const toCapture = (io: Io, item: InboxItem): Capture => ({
  receivedAt: item.receivedAt.toISOString(),
  method: 'POST',
  url: '/',
  headers: headersOf(io, item).map(([name, value]) => [name, toBytes(value)] as const),
  body: item.delivery.rawBody,
  outcome: { status: 202 },
})

/**
 * Converts a header value to the format of captures, one character per byte. Some platforms decode header values as
 * UTF-8, so one character may need several bytes.
 */
const toBytes = (value: string): string =>
  /[^\0-\xff]/.test(value) ? Buffer.from(value).toString('latin1') : value

/** A delivery that a command could not process. `state` is undefined if the inbox has no such delivery or fate. */
interface RefusedDelivery {
  id: string
  state: InboxState | undefined
}

interface Applied {
  done: number
  refused: RefusedDelivery[]
}

/** Resolves to false if the delivery is unknown or in the wrong state. */
type Operation = (inbox: DurableInbox, id: string) => Promise<boolean>

/**
 * Applies an operation to the named deliveries, or to all of a state.
 *
 * @param verb shown in the progress report, for example `retrying`
 */
async function apply(
  io: Io,
  targets: readonly string[] | WholeState,
  options: TargetOptions,
  verb: string,
  operation: Operation,
): Promise<Applied> {
  let tried = 0
  const refused: RefusedDelivery[] = []
  await withInbox(io, options, async (inbox, progress) => {
    for await (const ids of typeof targets === 'string' ? listAll(inbox, targets) : [targets]) {
      tried += ids.length
      refused.push(...(await applyToEach(inbox, ids, operation, { progress, verb, ...options })))
    }
  })
  return { done: tried - refused.length, refused }
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
function report(
  io: Io,
  ids: readonly string[],
  state: WholeState | undefined,
  { done, refused }: Applied,
  verb: string,
  { handler }: TargetOptions,
  lists?: Exported,
): void {
  // A delivery that is not named does not count as a failure if another process has just retried or removed it.
  const failed = state ? [] : refused
  if (failed.length > 0) io.exitCode = EXIT.failure
  const existing = new Set(lists?.alreadyThere.map(({ id }) => id))
  const processed = done - existing.size
  const rest = existing.size > 0 ? `, ${existing.size} already there` : ''
  io.printResult(
    { ...(lists ?? { [verb]: done }), refused: failed.map(({ id, state = null }) => ({ id, state })) },
    () => {
      if (state) {
        const [noun, plural] = NOUNS[state]
        return io.print(
          done === 0 ? `there are no ${plural}` : `${count(processed, noun, plural)} ${verb}${rest}`,
        )
      }
      const states = new Map(refused.map(({ id, state }) => [id, state]))
      for (const id of ids) {
        if (existing.has(id)) io.print(`already there ${id}`)
        else if (!states.has(id)) io.print(`${io.colours.green(verb)} ${id}`)
        else io.print(`${io.colours.red(`not ${verb}`)} ${id}: ${whyRefused(states.get(id), handler)}`)
      }
      io.print(
        io.colours.dim(`${count(processed, 'delivery', 'deliveries')} ${verb}${rest}, of ${ids.length}`),
      )
    },
  )
}

function whyRefused(state: InboxState | undefined, handler: string | undefined): string {
  if (state === undefined) return `it is not in the inbox${handler === undefined ? '' : ' for this handler'}`
  return state === 'active' ? 'it is being handled now' : `it is ${state}`
}

const PAGE_SIZE = 1_000

/** Maximum number of passes over the list, because new deliveries may keep appearing. */
const MAX_PASSES = 10

/**
 * Yields the ids of all deliveries in a state, each id once. Lists them repeatedly until a pass finds no new id,
 * because a single pass can miss some: pages shift while other processes change deliveries.
 */
export async function* listAll(inbox: DurableInbox, state: InboxState): AsyncGenerator<string[], void, void> {
  const known = new Set<string>()
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const ids = (await listOnce(inbox, state)).filter((id) => !known.has(id))
    if (ids.length === 0) return
    for (const id of ids) known.add(id)
    yield ids
  }
}

/** Reads all pages before it returns, because changing deliveries in between would shift the pages. */
async function listOnce(inbox: DurableInbox, state: InboxState): Promise<string[]> {
  const ids = new Set<string>()
  let after: string | undefined
  do {
    const { entries, next } = await inbox.list({ state, limit: PAGE_SIZE, after })
    for (const { id } of entries) ids.add(id)
    after = next
  } while (after !== undefined)
  return [...ids]
}
