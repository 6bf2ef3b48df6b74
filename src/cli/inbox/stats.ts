import { Command } from 'commander'
import { addExamples } from '../terminal/help.ts'
import type { Io } from '../terminal/io.ts'
import { toTable } from '../terminal/table.ts'
import { withInbox } from './store/open.ts'
import { addStoreOptions, type StoreOptions } from './store/options.ts'

export function createInboxStatsCommand(io: Io): Command {
  const command = new Command('stats')
    .summary('count the deliveries of an inbox by state')
    .description(
      'Counts the deliveries of an inbox by state, and prints how long the oldest has been waiting.',
    )
  addStoreOptions(command)
  addExamples(command, ['geohook inbox stats --store inbox.db'])
  return command.action(async (options: StoreOptions) => {
    const { waiting, active, done, dead, oldest } = await withInbox(io, options, (inbox) => inbox.stats())
    const counts = { waiting, active, done, dead }
    const age = oldest && Math.max(0, Date.now() - oldest.getTime())
    if (io.json) return io.printJson({ ...counts, oldest, age })
    const rows = Object.entries(counts).map(([state, number]) => [state, String(number)])
    io.print(await toTable(io, ['state', 'deliveries'], rows))
    if (oldest && age !== undefined) io.print(`oldest waiting: ${oldest.toISOString()}, ${toAge(age)} ago`)
  })
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]

/** Formats a duration in the largest unit that gives a value of at least 2, or else in seconds. */
function toAge(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => milliseconds >= 2 * size) ?? ['s', 1_000]
  return `${Math.max(0, Math.floor(milliseconds / size))} ${unit}`
}
