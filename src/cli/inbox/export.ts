import { createHash } from 'node:crypto'
import { Command } from 'commander'
import type { DurableInbox, InboxItem } from '../../inbox/index.ts'
import { type Capture, requireFolder, saveCapture, toCaptureFile, toCaptureJson } from '../captures/files.ts'
import { EXIT, usageError } from '../errors.ts'
import { addExamples } from '../terminal/help.ts'
import { count, print, printJson } from '../terminal/output.ts'
import { printable } from '../terminal/printable.ts'
import type { Progress } from '../terminal/progress.ts'
import { headersOf } from './item.ts'
import { addStoreOptions, type StoreOptions, withInbox } from './store/open.ts'
import {
  deadLetters,
  deliveryIds,
  noDelivery,
  type Refused,
  refusedJson,
  requireTargets,
  tellDead,
  tellEach,
} from './targets.ts'

interface Options extends StoreOptions {
  dead?: true
  out?: string
}

/** `geohook inbox export`: makes captures, which can be sent again. */
export function createInboxExportCommand(): Command {
  const command = new Command('export')
    .summary('write deliveries as captures, which replay sends again')
    .description(
      'Writes deliveries as captures: the exact bytes with the headers they came with, for "geohook replay". ' +
        'They stay in the inbox, which answers a replay of them to it as duplicates: "retry" is for the same inbox, ' +
        'a replay for another receiver, or after "discard". What an earlier export has written is skipped. ' +
        'The exit code is 1 if one was not in the inbox.',
    )
    .argument('[ids...]', 'the deliveries', deliveryIds)
    .option('--dead', 'export all dead letters')
    .option('--out <folder>', 'the folder for the captures; without it, the one capture is printed')
  addStoreOptions(command)
  addExamples(command, [
    'geohook inbox export --dead --out captures --store inbox.db',
    'geohook inbox export 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db',
  ])
  return command.action(async (ids: string[] = [], options: Options) => {
    const { dead, out } = options
    requireTargets(ids, dead)
    if (out !== undefined) return exportTo(out, ids, options)
    const [id, ...more] = ids
    if (id === undefined || more.length > 0)
      throw usageError('only one capture can be printed', 'Give --out, a folder for them.')
    const item = await withInbox(options, (inbox) => inbox.get(id))
    if (!item) throw noDelivery(id)
    printJson(toCaptureJson(toCapture(item)))
  })
}

async function exportTo(folder: string, named: readonly string[], options: Options): Promise<void> {
  const { dead, json } = options
  const result: Exported = { exported: [], alreadyThere: [], missing: [] }
  await withInbox(options, async (inbox, progress) => {
    await requireFolder(folder)
    for await (const ids of dead ? deadLetters(inbox) : [named])
      await saveEach(inbox, ids, { folder, progress, result })
  })
  const { exported, alreadyThere, missing } = result
  // Of all dead letters, one that somebody has removed meanwhile is none any more.
  const refused = dead ? [] : missing
  if (json) printJson({ exported, alreadyThere, refused: refusedJson(refused) })
  else tell(named, result, dead)
  if (refused.length > 0) process.exitCode = EXIT.no
}

/** A delivery, and the file of its capture. */
interface Saved {
  id: string
  file: string
}

interface Exported {
  exported: Saved[]
  /** An export before this one has written them. */
  alreadyThere: Saved[]
  missing: Refused[]
}

function tell(named: readonly string[], { exported, alreadyThere, missing }: Exported, dead?: true): void {
  for (const { file } of exported) print(printable(file))
  const there = alreadyThere.length
  if (!dead) tellEach(named, missing, 'exported', new Set(alreadyThere.map(({ id }) => id)))
  else if (there === 0) tellDead(exported.length, 'exported')
  else print(`${count(exported.length, 'dead letter')} exported, ${there} already there`)
}

async function saveEach(
  inbox: DurableInbox,
  ids: readonly string[],
  { folder, progress, result }: { folder: string; progress: Progress; result: Exported },
): Promise<void> {
  for (const [index, id] of ids.entries()) {
    const item = await inbox.get(id)
    if (item) {
      const { file, isNew } = await save(item, folder)
      result[isNew ? 'exported' : 'alreadyThere'].push({ id, file })
    } else result.missing.push({ id, state: undefined })
    progress.update(`exporting, ${index + 1} of ${ids.length}`)
  }
}

/** The name of a delivery is the same in every export, so what an earlier one has written is known. */
async function save(item: InboxItem, folder: string): Promise<{ file: string; isNew: boolean }> {
  const capture = toCapture(item)
  const file = toCaptureFile(folder, capture, toLabel(item.id))
  try {
    await saveCapture(file, capture)
    return { file, isNew: true }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return { file, isNew: false }
    throw usageError(`cannot save in ${folder}: ${code ?? message}`, 'Give another folder.')
  }
}

/** Whoever writes to the store chooses the id, but not a path, nor the name of another one. */
const toLabel = (id: string): string =>
  /^[\da-f]{32}$/.test(id) ? id : createHash('sha256').update(id).digest('hex')

/** An inbox keeps neither method nor URL: a delivery is always POST, and replay sends to an address of its own. */
const toCapture = (item: InboxItem): Capture => ({
  receivedAt: item.receivedAt.toISOString(),
  method: 'POST',
  url: '/',
  headers: headersOf(item).map(([name, value]) => [name, toBytes(value)] as const),
  body: item.delivery.rawBody,
  outcome: { status: 202 },
})

/** One character for each byte, as in all captures: some platforms decode the headers. */
const toBytes = (value: string): string =>
  /[^\0-\xff]/.test(value) ? Buffer.from(value).toString('latin1') : value
