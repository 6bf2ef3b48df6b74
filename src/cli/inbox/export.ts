import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import type { InboxItem } from '../../inbox/index.ts'
import { usageError } from '../errors.ts'
import { type Capture, requireFolder, saveCapture, toCaptureFile, toCaptureJson } from '../io/captures.ts'
import { addStoreOptions, type StoreOptions, withInbox } from '../io/store.ts'
import { type Io, printable } from '../terminal/io.ts'
import {
  apply,
  createBatchCommand,
  deliveryNotFound,
  headersOf,
  RETRIED,
  readTargets,
  report,
  type TargetOptions,
  type Targets,
} from './batch.ts'

export function createInboxExportCommand(io: Io): Command {
  return createBatchCommand('export', RETRIED)
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
      const targets = readTargets(ids, options, RETRIED)
      if (options.out !== undefined) return exportTo(io, options.out, targets, options)
      const [id, ...rest] = ids
      if (id === undefined || rest.length > 0)
        throw usageError('only one capture can be printed', 'Give a folder with --out.')
      const item = await withInbox(io, options, (inbox) => inbox.get(id))
      if (!item) throw deliveryNotFound(id)
      io.printJson(toCaptureJson(toCapture(io, item)))
    })
}

async function exportTo(io: Io, folder: string, targets: Targets, options: StoreOptions): Promise<void> {
  const exported: { id: string; file: string }[] = []
  /** Deliveries that an earlier export has already written. */
  const alreadyThere: typeof exported = []
  await requireFolder(folder)
  const applied = await apply(io, targets, options, 'exporting', async (inbox, id) => {
    const item = await inbox.get(id)
    if (!item) return false
    const { file, isNew } = await save(toCapture(io, item), id, folder)
    const list = isNew ? exported : alreadyThere
    list.push({ id, file })
    return true
  })
  for (const list of [exported, alreadyThere]) list.sort((a, b) => (a.file < b.file ? -1 : 1))
  if (!io.json) for (const { file } of exported) io.print(printable(file))
  report(io, targets, applied, 'exported', {}, { exported, alreadyThere })
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
