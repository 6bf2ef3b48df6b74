import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findPort } from '../../helpers/port.ts'
import { ENGINES, type Engine, type EngineName } from '../../inbox/crash/engines.ts'
import { createRandom } from '../../inbox/crash/random.ts'
import { type Child, startChild } from './child.ts'
import { startEditor } from './editor.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import { checkComparisons, compare, type Seen } from './verdict.ts'

export interface CatchUpRun {
  engine: EngineName
  kills: number
  seed: number
}

/** The figures of a run. */
export interface CatchUpVerdict {
  edits: number
  /** Number of deliveries that the proxy lost. */
  dropped: number
  /** Number of deliveries that were stored, from the service and from catching up. */
  announced: number
  caughtUp: number
  /** Number of comparisons of a feature with its snapshot. */
  compared: number
  /** Differences between the mock and what the handlers saw. */
  missing: string[]
  /** Comparisons that are not exact. */
  wrong: string[]
}

const KEY = 'parcels2026'
/** Share of the deliveries that are lost on their way. */
const DROPPED = 0.3
/** Maximum milliseconds until the last receiver has handled all changes. */
const DRAIN_TIMEOUT = 60_000
/** Edits a mock at random while its receiver is killed again and again, and compares what the handlers saw. */
export async function runCatchUp({ engine: name, kills, seed }: CatchUpRun): Promise<CatchUpVerdict> {
  const random = createRandom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'geohook-catch-up-'))
  const engine = await ENGINES[name]({ isKilled: false })
  const port = await findPort()
  const proxy = await startLossyProxy(port, DROPPED, random)
  const editor = await startEditor(proxy.url, KEY)
  const log = join(folder, 'handlers.log')
  const children = new Set<Child>()
  const start = (): Child => {
    // Half of the processes coalesce.
    const coalesce = children.size % 2 === 0 ? { COALESCE: 'true' } : {}
    const child = startChild({
      ...toEnv(engine),
      ...ROWS[name],
      ...coalesce,
      PORT: `${port}`,
      LOG: log,
      KEY,
      SERVICE: editor.url,
    })
    children.add(child)
    return child
  }
  const read = async (): Promise<Seen[]> => parse(await readFile(log, 'utf8').catch(() => ''))
  const countStarts = async (): Promise<number> =>
    (await read()).filter(({ kind }) => kind === 'ready').length

  try {
    const first = start()
    // Edits count from the moment when the first receiver knows the generations.
    await first.until(async () => (await countStarts()) > 0)
    await first.end('SIGKILL')
    for (let kill = 0; kill < kills; kill++) {
      const before = await countStarts()
      const child = start()
      // Most processes are killed while they receive and handle deliveries, and some while they start.
      const isEarly = random.next() < 0.2
      if (!isEarly) await child.until(async () => (await countStarts()) > before)
      const killed = setTimeout(random.between(0, 400)).then(() => child.end('SIGKILL'))
      await editor.edit(random)
      await killed
    }
    // No later delivery covers these edits, so only catching up can find them.
    await editor.edit(random, true)
    proxy.stopDropping()
    const starts = await countStarts()
    const last = start()
    let missing: string[] = []
    const isComplete = async (): Promise<boolean> => {
      const seen = await read()
      // The last receiver has to run, or the signal below would end it without an orderly end.
      if ((await countStarts()) === starts) return false
      missing = compare(editor.service, seen, editor.edits)
      return missing.length === 0
    }
    await last.until(isComplete, DRAIN_TIMEOUT)
    const [code] = await last.end('SIGTERM')
    if (code !== 0) throw new Error(`the receiver ended with ${code}:\n${last.errors}`)
    await engine.requireSound()
    const seen = await read()
    return {
      edits: editor.edits.length,
      dropped: proxy.dropped,
      announced: seen.filter(({ kind }) => kind === 'announced').length,
      caughtUp: seen.filter(({ kind }) => kind === 'caught_up').length,
      missing,
      ...checkComparisons(seen),
    }
  } finally {
    for (const child of children) if (!child.ended) await child.end('SIGKILL')
    await editor.close()
    await proxy.close()
    await engine.remove()
    await rm(folder, { recursive: true })
  }
}

/** Formats the figures of a run in one line. */
export function toLine(
  { engine, kills, seed }: CatchUpRun,
  { missing, wrong, ...figures }: CatchUpVerdict,
): string {
  const all = { seed, kills, ...figures, missing: missing.length, wrong: wrong.length }
  return `catch-up, ${engine}: ${Object.entries(all)
    .map(([name, figure]) => `${name} ${figure}`)
    .join(', ')}`
}

/** The stores of snapshots. */
const ROWS: Record<EngineName, { ROWS: string }> = {
  sqlite: { ROWS: 'createSqliteRows' },
  postgres: { ROWS: 'createPostgresRows' },
}

const toEnv = ({ entry, factory, options }: Engine): Record<string, string> => ({
  ENTRY: entry,
  FACTORY: factory,
  OPTIONS: JSON.stringify(options),
})

/** Reads the lines of a log. The last one may be incomplete. */
const parse = (text: string): Seen[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Seen)
