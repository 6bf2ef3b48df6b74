import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import type { DurableInbox, InboxEntry, InboxItem, InboxState } from '../../inbox/index.ts'
import { count, toDuration } from '../../shared/words.ts'
import { EXIT, usageError } from '../errors.ts'
import { startServer } from '../io/server.ts'
import { addStoreOptions, createTables, type StoreOptions, withInbox, withStore } from '../io/store.ts'
import { CliCommand } from '../options/command.ts'
import { addInspectorTokenOptions, readInspectorToken, type TokenOptions } from '../options/secrets.ts'
import { commaList, duration, port, wholeNumber } from '../options/values.ts'
import { type Io, printable, printableLines } from '../terminal/io.ts'
import {
  createInboxDiscardCommand,
  createInboxPurgeCommand,
  createInboxRerunCommand,
  createInboxRetryCommand,
  deliveryId,
  deliveryNotFound,
  headersOf,
} from './batch.ts'
import { createInboxExportCommand } from './export.ts'
import { createInboxErrorsCommand, createInboxListCommand } from './list.ts'

export function createInboxCommand(io: Io): Command {
  return new CliCommand('inbox')
    .summary('manage the deliveries in a durable inbox')
    .description(
      'Shows the deliveries in a durable inbox, and retries, reruns, discards or exports them, also in a browser.',
    )
    .usage('<command> [options]')
    .examples(
      'geohook inbox stats --store inbox.db',
      'geohook inbox list --state dead --store inbox.db',
      'geohook inbox errors --store inbox.db',
      'geohook inbox retry --dead --store-file store.txt',
      'geohook inbox ui --store inbox.db',
    )
    .addCommand(createInboxStatsCommand(io))
    .addCommand(createInboxPauseCommand(io, 'pause'))
    .addCommand(createInboxPauseCommand(io, 'resume'))
    .addCommand(createInboxConcurrencyCommand(io))
    .addCommand(createInboxListCommand(io))
    .addCommand(createInboxShowCommand(io))
    .addCommand(createInboxErrorsCommand(io))
    .addCommand(createInboxRetryCommand(io))
    .addCommand(createInboxRerunCommand(io))
    .addCommand(createInboxDiscardCommand(io))
    .addCommand(createInboxPurgeCommand(io))
    .addCommand(createInboxExportCommand(io))
    .addCommand(createInboxBackupCommand(io))
    .addCommand(createInboxInitCommand(io))
    .addCommand(createInboxUiCommand(io))
}

function createInboxStatsCommand(io: Io): Command {
  return new CliCommand('stats')
    .summary('count the deliveries of an inbox by state')
    .description(
      'Counts the deliveries of an inbox by state, and prints how long the oldest has been waiting. ' +
        'The exit code is 1 if a condition of --fail-on is met.',
    )
    .option(
      '--fail-on <conditions>',
      'exit with 1 if a count or the age of the oldest waiting delivery has reached a limit, for example ' +
        'dead=1,oldest=5m; plain numbers of oldest are seconds',
      failConditions,
    )
    .with(addStoreOptions)
    .examples(
      'geohook inbox stats --store inbox.db',
      'geohook inbox stats --fail-on dead=1,oldest=300 --store inbox.db',
    )
    .action(async (options: StoreOptions & { failOn?: FailCondition[] }) => {
      const stats = await withInbox(io, options, (inbox) => inbox.stats())
      const { waiting, active, done, dead, unhandled, oldest, paused, concurrency } = stats
      const counts = { waiting, active, done, dead, unhandled }
      const age = oldest && Math.max(0, Date.now() - oldest.getTime())
      const measured = { ...counts, oldest: age ?? 0 }
      const met = options.failOn?.filter(({ name, limit }) => measured[name] >= limit)
      if (met && met.length > 0) io.exitCode = EXIT.failure
      const failed = met?.map(({ text }) => text)
      if (io.json) return io.printJson({ ...counts, oldest, age, paused, concurrency, failed })
      const rows = Object.entries(counts).map(([state, number]) => [state, String(number)])
      io.printTable(['state', 'deliveries'], rows)
      if (oldest && age !== undefined)
        io.print(`oldest waiting: ${oldest.toISOString()}, ${toDuration(age)} ago`)
      if (paused) io.print('paused: workers take no deliveries')
      if (concurrency !== undefined) io.print(`concurrency: ${concurrency}`)
      for (const { text, name } of met ?? []) {
        const value = name === 'oldest' ? toDuration(measured.oldest) : measured[name]
        io.print(`${io.colours.red('failed')} ${text}: it is ${value}`)
      }
    })
}

/** A condition of `--fail-on`. */
interface FailCondition {
  /** As the user wrote it. */
  text: string
  name: InboxState | 'oldest'
  /** Milliseconds for `oldest`. */
  limit: number
}

const failConditions = commaList(
  /^(?:(?:waiting|active|done|dead|unhandled)=[1-9]\d{0,8}|oldest=[1-9]\d{0,5}[smhd]?)$/,
  'conditions like dead=1,oldest=5m: a state and a number from 1, or oldest and a duration',
  (text): FailCondition => {
    const [name, limit = ''] = text.split('=') as [FailCondition['name'], string]
    const toLimit = name === 'oldest' ? duration : Number
    return { text, name, limit: toLimit(name === 'oldest' && /\d$/.test(limit) ? `${limit}s` : limit) }
  },
)

function createInboxPauseCommand(io: Io, name: 'pause' | 'resume'): Command {
  const paused = name === 'pause'
  return new CliCommand(name)
    .summary(paused ? 'keep all workers from taking deliveries' : 'end a pause')
    .description(
      paused
        ? 'Keeps the workers of all processes from taking deliveries, also after restarts. Attempts in progress ' +
            'continue, and receivers still store new deliveries. "geohook inbox resume" ends the pause.'
        : 'Ends a pause: the workers of all processes take deliveries again.',
    )
    .with(addStoreOptions)
    .examples(`geohook inbox ${name} --store inbox.db`)
    .action(async (options: StoreOptions) => {
      await withInbox(io, options, (inbox) => inbox[name]())
      io.printResult({ paused }, paused ? 'paused; "geohook inbox resume" ends the pause' : 'resumed')
    })
}

function createInboxConcurrencyCommand(io: Io): Command {
  return new CliCommand('concurrency')
    .summary('change how many deliveries workers handle at a time')
    .description(
      'Replaces the concurrency of the workers in all processes while they run, also after restarts. It limits each ' +
        'worker, not their total. "default" restores the concurrency that each worker was started with.',
    )
    .argument('<n>', 'maximum number of deliveries at a time, 1 to 1000, or default', concurrencyOf)
    .with(addStoreOptions)
    .examples(
      'geohook inbox concurrency 16 --store inbox.db',
      'geohook inbox concurrency default --store inbox.db',
    )
    .action(async (given: number | 'default', options: StoreOptions) => {
      const concurrency = given === 'default' ? undefined : given
      await withInbox(io, options, (inbox) => inbox.setConcurrency(concurrency))
      io.printResult({ concurrency: concurrency ?? null }, `concurrency: ${given}`)
    })
}

const concurrencyOf = (value: string): number | 'default' =>
  value === 'default' ? value : wholeNumber(1, 1_000)(value)

function createInboxShowCommand(io: Io): Command {
  return new CliCommand('show')
    .summary('show one delivery with its headers and body')
    .description(
      'Shows everything about one delivery, and the first 16 KiB of a text body. ' +
        '"geohook inbox export" writes the exact bytes.',
    )
    .argument('<id>', 'id of the delivery', deliveryId)
    .with(addStoreOptions)
    .examples('geohook inbox show 5f1d0c2b9a4e4c6f8d7b3a2e1f0c9d8b --store inbox.db')
    .action(async (id: string, options: StoreOptions) => {
      const item = await withInbox(io, options, (inbox) => inbox.get(id))
      if (!item) throw deliveryNotFound(id)
      io.printResult(toItemJson(io, item), () => printItem(io, item))
    })
}

const MAX_PRINTED = 16 * 1024

/** Returns the start of a text body, or undefined for a binary body. */
function startOfText(body: Uint8Array): string | undefined {
  if (!isUtf8(body)) return undefined
  // With `stream`, the decoder omits an incomplete character at the end.
  const text = new TextDecoder().decode(body.subarray(0, MAX_PRINTED), { stream: true })
  return text.includes('\0') ? undefined : text
}

/** Converts a delivery to JSON. `body` contains the exact bytes in base64, as in a capture. */
function toItemJson(io: Io, item: InboxItem): object {
  const { delivery, ...entry } = item
  const { contentType, profile, keyIndex, tenant, rawBody } = delivery
  return {
    ...entry,
    contentType,
    profile,
    keyIndex,
    tenant,
    headers: headersOf(io, item),
    text: startOfText(rawBody),
    body: Buffer.from(rawBody).toString('base64'),
  }
}

type Member = readonly [name: string, value: string | undefined]

/** The members of a fate. */
const toMembers = (fate: InboxEntry): [state: Member, attempts: Member, ...times: Member[]] => [
  ['state', fate.state],
  ['attempts', String(fate.attempts)],
  ['started', fate.startedAt?.toISOString()],
  ['worker', fate.worker],
  ['lease ends', fate.leaseEndsAt?.toISOString()],
  ['next', fate.held ? 'held behind an earlier delivery of its service' : fate.dueAt?.toISOString()],
  ['order', fate.passed && 'passed by later deliveries of its service'],
  ['ended', fate.endedAt?.toISOString()],
]

const memberLines = (members: readonly Member[]): string[] =>
  members.flatMap(([name, value]) => (value === undefined ? [] : `${name.padEnd(12)}  ${printable(value)}`))

const errorLines = ({ errors = [] }: InboxEntry): string[] =>
  errors.flatMap(({ error, attempt, at }) => [
    ['error', attempt && `of attempt ${attempt}`, at?.toISOString()].filter(Boolean).join(' '),
    ...printableLines(error).map((line) => `  ${line}`),
  ])

function printItem(io: Io, item: InboxItem): void {
  const { id, changeTypes, receivedAt, size, delivery, fates } = item
  const hasNames = fates.some(({ handler }) => handler !== undefined)
  const [state, attempts, ...times] = toMembers(item)
  const members: Member[] = [
    ['id', id],
    ...(hasNames ? [] : [state, attempts]),
    ['received', receivedAt.toISOString()],
    ...(hasNames ? [] : times),
    ['change types', changeTypes.join(',')],
    ['service', item.service],
    ['profile', delivery.profile],
    ['tenant', delivery.tenant],
    ['key', delivery.keyIndex === undefined ? 'none: it was not signed' : `number ${delivery.keyIndex + 1}`],
    ['content type', delivery.contentType],
    ['size', count(size, 'byte')],
  ]
  for (const line of memberLines(members)) io.print(line)
  if (!hasNames) for (const line of errorLines(item)) io.print(line)
  for (const fate of hasNames ? fates : []) {
    const title = printable(fate.handler ?? 'without a name')
    printSection(io, `handler ${title}`, [...memberLines(toMembers(fate)), ...errorLines(fate)])
  }
  printSection(
    io,
    'headers',
    headersOf(io, item).map(([name, value]) => printable(`${name}: ${value}`)),
  )
  printSection(io, 'body', bodyLines(delivery.rawBody))
}

function printSection(io: Io, title: string, lines: readonly string[]): void {
  io.print(title)
  for (const line of lines) io.print(`  ${line}`)
}

function bodyLines(body: Uint8Array): string[] {
  const text = startOfText(body)
  if (text === undefined) return ['(not text; "geohook inbox export" writes the exact bytes)']
  const more = body.length - MAX_PRINTED
  const rest = more > 0 ? [`(and ${count(more, 'byte')} more; "geohook inbox export" writes them)`] : []
  return [...printableLines(text), ...rest]
}

function createInboxBackupCommand(io: Io): Command {
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
            'Use the tools of the server, such as pg_dump.',
          )
        const { backupSqliteInbox } = await import('../../inbox/sqlite/index.ts')
        progress.update('copying the file')
        await backupSqliteInbox(text, file)
      })
      io.printResult({ file }, `saved as ${printable(file)}`)
    })
}

interface InitOptions extends StoreOptions {
  printSql?: true
  role?: string
}

function createInboxInitCommand(io: Io): Command {
  return new CliCommand('init')
    .summary('create the tables of an inbox in PostgreSQL, or print their SQL')
    .description(
      'Creates the tables of an inbox in PostgreSQL. An inbox does this itself if its role may create tables. If it ' +
        'may not, give the SQL of --print-sql to the administrator of the database: it also creates the tables for ' +
        'duplicates and snapshots, and grants the rights on them.',
    )
    .option('--print-sql', 'print the SQL instead; needs no --store')
    .option('--role <name>', 'with --print-sql: the role of the processes that use the inbox')
    .with(addStoreOptions)
    .examples(
      'geohook inbox init --store-file store.txt',
      'geohook inbox init --print-sql --role parcels --schema geohook',
    )
    .action(async (options: InitOptions) => {
      const { printSql, role, schema } = options
      if (!printSql) {
        await createTables(io, options)
        return io.printResult({ created: true }, 'the tables exist')
      }
      if (!role)
        throw usageError('--print-sql requires --role', 'Give the role of the processes that use the inbox.')
      const { createSchemaSql } = await import('../../inbox/postgres/index.ts')
      const sql = createSchemaSql({ schema, role })
      io.printResult({ sql }, sql)
    })
}

interface UiOptions extends StoreOptions, TokenOptions {
  port: number
  host: string
}

function createInboxUiCommand(io: Io): Command {
  return new CliCommand('ui')
    .summary('show the deliveries in a browser')
    .description(
      'Serves a page that shows the deliveries of an inbox, and retries, reruns or removes them. It runs no ' +
        'handlers: the workers of the inbox do. Without a token, the page is only for this machine.',
    )
    .option('--port <n>', 'port to listen on; 0 picks a free one', port, 4040)
    .option('--host <address>', 'address to listen on; any but this machine requires a token', '127.0.0.1')
    .with(addInspectorTokenOptions)
    .with(addStoreOptions)
    .examples(
      'geohook inbox ui --store inbox.db',
      'geohook inbox ui --port 0 --store-file store.txt --json',
      'geohook inbox ui --host 0.0.0.0 --token-file token.txt --store-file store.txt',
    )
    .action((options) => showInbox(io, options))
}

async function showInbox(io: Io, options: UiOptions): Promise<void> {
  const token = await readInspectorToken(io, options, options.host)
  const { createInspector } = await import('../../inspector/index.ts')
  await withInbox(io, options, async (inbox, progress) => {
    await inbox.stats() // fails now if the store is unreachable
    const page = createInspector(withoutLimit(inbox), { token })
    // Called before the address is printed, because a script may stop the server as soon as it has read the address.
    const stopped = io.untilStopped()
    const server = await startServer((req, res) => void page(req, res), options.port, options.host)
    progress.stop()
    io.printAddress('inspector of the inbox on', `${server.url}/`)
    await stopped
    await server.close()
  })
}

/** Hides `maxPending`: this process does not know the limit of the one that receives deliveries. */
const withoutLimit = (inbox: DurableInbox): DurableInbox => ({
  ...inbox,
  stats: async () => ({ ...(await inbox.stats()), maxPending: Number.POSITIVE_INFINITY }),
})
