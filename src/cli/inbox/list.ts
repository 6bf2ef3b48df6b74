import type { Command } from 'commander'
import type { DeliveryFilter, DurableInbox, InboxEntry, InboxPage, InboxState } from '../../inbox/index.ts'
import { count, shellQuote, toFindable } from '../../shared/words.ts'
import { addStoreOptions, type StoreOptions, withInbox } from '../io/store.ts'
import { CliCommand } from '../options/command.ts'
import { duration, wholeNumber } from '../options/values.ts'
import { type Io, printable } from '../terminal/io.ts'

/** Adds the options that select deliveries. `--handler` can also go with ids. */
export const addFilterOptions = (command: CliCommand): CliCommand =>
  command
    .option('--change-type <name>', 'only deliveries with this change type')
    .option('--service <url>', 'only deliveries of the feature service with this URL')
    .option(
      '--error <text>',
      'only deliveries whose last error contains this text, as "geohook inbox errors" prints it',
    )
    .option('--handler <name>', 'only the fate of handlers with this name; "" for those without one')
    .option(
      '--older-than <time>',
      'only deliveries that ended at least this long ago, for example 90s, 15m, 12h or 7d',
      duration,
    )
    .option('--newer-than <time>', 'only deliveries that ended within this time', duration)

const NAMES = ['changeType', 'service', 'error', 'handler', 'olderThan', 'newerThan'] as const

/** Returns only the given conditions. */
export const toFilter = (options: DeliveryFilter): DeliveryFilter =>
  Object.fromEntries(NAMES.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])))

const STATES: readonly InboxState[] = ['waiting', 'active', 'done', 'dead', 'unhandled']

interface ListOptions extends StoreOptions, DeliveryFilter {
  state?: InboxState
  limit: number
  after?: string
}

export function createInboxListCommand(io: Io): Command {
  return new CliCommand('list')
    .summary('list the deliveries of an inbox')
    .description('Lists the deliveries of an inbox, oldest first: all, or those that match.')
    .choice('--state <name>', 'only deliveries in this state', STATES)
    .option('--limit <n>', 'maximum number of deliveries, 1 to 1000', wholeNumber(1, 1_000), 100)
    .option('--after <cursor>', 'cursor that the previous list printed, to continue after it')
    .with(addFilterOptions)
    .with(addStoreOptions)
    .examples(
      'geohook inbox list --state dead --error ECONNREFUSED --store inbox.db',
      'geohook inbox list --limit 1000 --json --store-file store.txt',
    )
    .action(async (options: ListOptions) => {
      const page = await withInbox(io, options, (inbox) => listMatching(inbox, options))
      if (io.json) return io.printJson(page)
      if (page.entries.length === 0) io.print('no deliveries found')
      else printEntries(io, page.entries)
      const { next } = page
      if (next === undefined) return
      const cursor = next.includes(' ') ? `"${next}"` : next
      io.print(io.colours.dim(`there may be more: --after ${printable(cursor)}`))
    })
}

/** Reads pages until there are enough entries, because each page compares a limited number of deliveries. */
async function listMatching(
  inbox: DurableInbox,
  { state, limit, after, ...rest }: ListOptions,
): Promise<InboxPage> {
  const entries: InboxEntry[] = []
  let next = after
  do {
    const page = await inbox.list({ ...toFilter(rest), state, limit: limit - entries.length, after: next })
    entries.push(...page.entries)
    next = page.next
  } while (next !== undefined && entries.length < limit)
  return { entries, ...(next !== undefined && { next }) }
}

const COLUMNS = ['state', 'attempts', 'received', 'next or end', 'service', 'change types', 'size']

const [SERVICE_LENGTH, CHANGE_TYPES_LENGTH] = [40, 60]

/** The part of a service's URL that distinguishes it: `Parcels/FeatureServer`. */
const toServicePath = (url = ''): string => url.replace(/^.*\/services\//, '')

function printEntries(io: Io, entries: readonly InboxEntry[]): void {
  const hasNames = entries.some(({ handler }) => handler !== undefined)
  const rows = entries.map(({ id, handler = '', state, attempts, receivedAt, ...entry }) => [
    io.shortened(id),
    ...(hasNames ? [io.shortened(handler)] : []),
    state,
    String(attempts),
    receivedAt.toISOString(),
    entry.held ? 'held' : ((entry.dueAt ?? entry.endedAt)?.toISOString() ?? ''),
    io.shortened(toServicePath(entry.service), SERVICE_LENGTH),
    io.shortened(entry.changeTypes.join(','), CHANGE_TYPES_LENGTH),
    String(entry.size),
  ])
  const errors = entries.map(({ error = '' }) => error.replace(/\s+/g, ' ').trim())
  io.printTable(['id', ...(hasNames ? ['handler'] : []), ...COLUMNS], rows, { head: 'error', cells: errors })
}

export function createInboxErrorsCommand(io: Io): Command {
  return new CliCommand('errors')
    .summary('group dead letters by their last error')
    .description(
      'Groups the newest 100,000 dead letters by their last error, with * in place of ids and long numbers. For each ' +
        'group, prints a command that retries it. Its --error also works with "list", "export" and "discard".',
    )
    .with(addStoreOptions)
    .examples('geohook inbox errors --store inbox.db', 'geohook inbox errors --json --store-file store.txt')
    .action(async (options: StoreOptions) => {
      const { groups, examined, dead } = await withInbox(io, options, async (inbox) => {
        const { dead } = await inbox.stats()
        return { ...(await inbox.errors()), dead }
      })
      if (io.json) return io.printJson({ groups, examined, dead })
      if (groups.length === 0) return io.print('there are no dead letters')
      for (const { error, count: number, first, last } of groups) {
        const text = printable(error) || io.colours.dim('no text, because an older version stored them')
        io.print(`${count(number, 'dead letter')}, ${first.toISOString()} to ${last.toISOString()}: ${text}`)
        const start = toFindable(error, (text) => io.hide(text))
        if (start === '') continue
        io.print(`  geohook inbox retry --dead --error ${shellQuote(start)}${repeatStoreOptions(options)}`)
        const others = groups.filter((group) => group.error.includes(start))
        const more = others.reduce((sum, group) => sum + group.count, 0) - number
        if (more > 0) io.print(`  which also retries ${count(more, 'dead letter')} with other errors`)
      }
      const rest = groups.reduce((sum, group) => sum - group.count, examined)
      if (rest > 0) io.print(`${count(rest, 'dead letter')} with other errors`)
      if (examined < dead) io.print(`these are the newest ${examined} of ${dead} dead letters`)
    })
}

/** The user's store options, for a command to copy. Omits an address that can contain a password. */
function repeatStoreOptions({ store, storeEnv, storeFile, schema, queue }: StoreOptions): string {
  const given = { store, 'store-env': storeEnv, 'store-file': storeFile, schema: [schema], queue: [queue] }
  return Object.entries(given)
    .flatMap(([name, values]) => {
      const value = values?.[0]
      if (value === undefined) return []
      const isAddress = name === 'store' && /^postgres/i.test(value)
      const word = /^[\w./-]+$/.test(value) ? value : shellQuote(printable(value))
      return ` --${name} ${isAddress ? '…' : word}`
    })
    .join('')
}
