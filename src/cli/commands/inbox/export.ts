import { Command } from 'commander'
import type { DurableInbox, InboxItem } from '../../../inbox/index.ts'
import { type Capture, requireFolder, saveCapture, toCaptureJson } from '../../captures.ts'
import { EXIT, usageError } from '../../exit.ts'
import { addExamples } from '../../help.ts'
import { headersOf } from '../../inbox-item.ts'
import { addStoreOptions, type StoreOptions, withInbox } from '../../inbox-store.ts'
import {
  deliveryIds,
  idsOfDead,
  noDelivery,
  type Refused,
  refusedJson,
  requireTargets,
  tellDead,
  tellEach,
} from '../../inbox-targets.ts'
import { print, printJson } from '../../output.ts'
import { printable } from '../../printable.ts'
import type { Progress } from '../../progress.ts'

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
        'They stay in the inbox. The exit code is 1 if one was not there.',
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
  const { exported, missing } = await withInbox(options, async (inbox, progress) => {
    const ids = dead ? await idsOfDead(inbox) : named
    await requireFolder(folder)
    return saveEach(inbox, ids, folder, progress)
  })
  // Of all dead letters, one that somebody has removed meanwhile is none any more.
  const refused = dead ? [] : missing
  if (json) printJson({ exported, refused: refusedJson(refused) })
  else {
    for (const { file } of exported) print(printable(file))
    if (dead) tellDead(exported.length, 'exported')
    else tellEach(named, refused, 'exported')
  }
  if (refused.length > 0) process.exitCode = EXIT.no
}

interface Exported {
  id: string
  file: string
}

async function saveEach(
  inbox: DurableInbox,
  ids: readonly string[],
  folder: string,
  progress: Progress,
): Promise<{ exported: Exported[]; missing: Refused[] }> {
  const exported: Exported[] = []
  const missing: Refused[] = []
  for (const [index, id] of ids.entries()) {
    const item = await inbox.get(id)
    if (item) exported.push({ id, file: await save(item, folder, index + 1) })
    else missing.push({ id, state: undefined })
    progress.update(`exporting, ${index + 1} of ${ids.length}`)
  }
  return { exported, missing }
}

async function save(item: InboxItem, folder: string, number: number): Promise<string> {
  // Whoever writes to the store chooses the id, but not a path.
  const finding = item.id.replace(/[^\w-]/g, '_').slice(0, 64)
  try {
    return await saveCapture(folder, toCapture(item), { number, finding })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'a capture of that name is there already' : (code ?? message)
    throw usageError(`cannot save in ${folder}: ${why}`, 'Give another folder.')
  }
}

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
