import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import type { DurableInbox, InboxItem } from '../../inbox/index.ts'
import { count } from '../../shared/words.ts'
import { EXIT, usageError } from '../errors.ts'
import { type Capture, requireFolder, saveCapture, toCaptureFile, toCaptureJson } from '../io/captures.ts'
import { CliCommand } from '../options/command.ts'
import type { Io, Progress } from '../terminal/io.ts'
import { printable } from '../terminal/printable.ts'
import {
  addTargets,
  deadLetters,
  deliveryNotFound,
  printEach,
  type RefusedDelivery,
  requireTargets,
  type TargetOptions,
  toDeadLetterText,
  toRefusedJson,
} from './batch.ts'
import { headersOf } from './stats-list-show.ts'
import { addStoreOptions, type StoreOptions, withInbox, withStore } from './store.ts'

interface Options extends TargetOptions {
  out?: string
}

export function createInboxExportCommand(io: Io): Command {
  return new CliCommand('export')
    .summary('write deliveries as captures for replay')
    .description(
      'Writes deliveries as captures for "geohook replay": the exact bytes with their original headers. ' +
        'The deliveries stay in the inbox, which treats a replay as a duplicate. To handle them again in the same ' +
        'inbox, use "retry", or "discard" them before the replay. Captures of an earlier export are skipped. ' +
        'The exit code is 1 if a delivery was not in the inbox.',
    )
    .with((command) => addTargets(command, 'export all dead letters'))
    .option('--out <folder>', 'folder for the captures; without it, prints a single capture')
    .with(addStoreOptions)
    .examples(
      'geohook inbox export --dead --out captures --store inbox.db',
      'geohook inbox export 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
    )
    .action(async (ids: string[] = [], options: Options) => {
      const { out } = options
      requireTargets(ids, options)
      if (out !== undefined) return exportTo(io, out, ids, options)
      const [id, ...rest] = ids
      if (id === undefined || rest.length > 0)
        throw usageError('only one capture can be printed', 'Give a folder with --out.')
      const item = await withInbox(io, options, (inbox) => inbox.get(id))
      if (!item) throw deliveryNotFound(id)
      io.printJson(toCaptureJson(toCapture(io, item)))
    })
}

async function exportTo(io: Io, folder: string, named: readonly string[], options: Options): Promise<void> {
  const { dead } = options
  const result: ExportResult = { exported: [], alreadyThere: [], missing: [] }
  await withInbox(io, options, async (inbox, progress) => {
    await requireFolder(folder)
    for await (const ids of dead ? deadLetters(inbox) : [named])
      await exportEach(io, inbox, ids, { folder, progress, result })
  })
  const { exported, alreadyThere, missing } = result
  // With --dead, a dead letter that another process has just removed does not count as a failure.
  const refused = dead ? [] : missing
  io.printResult({ exported, alreadyThere, refused: toRefusedJson(refused) }, () =>
    printResult(io, named, result, dead),
  )
  if (refused.length > 0) io.exitCode = EXIT.failure
}

/** A delivery with the path of its capture file. */
interface ExportedDelivery {
  id: string
  file: string
}

interface ExportResult {
  exported: ExportedDelivery[]
  /** Deliveries that an earlier export has already written. */
  alreadyThere: ExportedDelivery[]
  missing: RefusedDelivery[]
}

function printResult(
  io: Io,
  named: readonly string[],
  { exported, alreadyThere, missing }: ExportResult,
  dead?: true,
): void {
  for (const { file } of exported) io.print(printable(file))
  const existing = alreadyThere.length
  if (!dead) printEach(io, named, missing, 'exported', new Set(alreadyThere.map(({ id }) => id)))
  else if (existing === 0) io.print(toDeadLetterText(exported.length, 'exported'))
  else io.print(`${count(exported.length, 'dead letter')} exported, ${existing} already there`)
}

async function exportEach(
  io: Io,
  inbox: DurableInbox,
  ids: readonly string[],
  { folder, progress, result }: { folder: string; progress: Progress; result: ExportResult },
): Promise<void> {
  for (const [index, id] of ids.entries()) {
    const item = await inbox.get(id)
    if (item) {
      const { file, isNew } = await save(toCapture(io, item), item.id, folder)
      result[isNew ? 'exported' : 'alreadyThere'].push({ id, file })
    } else result.missing.push({ id, state: undefined })
    progress.update(`exporting, ${index + 1} of ${ids.length}`)
  }
}

/** Saves a delivery. Every export gives it the same file name, so an existing file is from an earlier export. */
async function save(capture: Capture, id: string, folder: string): Promise<{ file: string; isNew: boolean }> {
  const file = toCaptureFile(folder, capture, toLabel(id))
  try {
    await saveCapture(file, capture)
    return { file, isNew: true }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return { file, isNew: false }
    throw usageError(`cannot save in ${folder}: ${code ?? message}`, 'Give another folder.')
  }
}

/** Hashes ids in an unexpected format, so that a manipulated id in the store cannot change the path. */
const toLabel = (id: string): string =>
  /^[\da-f]{32}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')

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

export function createInboxBackupCommand(io: Io): Command {
  return new CliCommand('backup')
    .summary('copy the file of a SQLite inbox, even while it is in use')
    .description(
      'Copies the file of a SQLite inbox, even while other processes use it. The copy is complete and consistent; ' +
        'an ordinary copy of the file would lack its write-ahead log. Existing files are not overwritten.',
    )
    .argument('<file>', 'path of the copy')
    .with(addStoreOptions)
    .examples('geohook inbox backup backup.db --store inbox.db')
    .action(async (file: string, options: StoreOptions) => {
      await withStore(io, options, async ({ engine, text }, progress) => {
        if (engine !== 'sqlite')
          throw usageError(
            'this command can back up only SQLite inboxes',
            'Use the tools of the server: pg_dump for PostgreSQL, BGSAVE for Redis.',
          )
        const { backupSqliteInbox } = await import('../../inbox/sqlite/index.ts')
        progress.update('copying the file')
        await backupSqliteInbox(text, file)
      })
      io.printResult({ file }, `saved as ${printable(file)}`)
    })
}
