import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { createFolder, geohook, type RunResult } from './cli.ts'
import { fill, handleAll, leaveAll, ONE_ATTEMPT, payloads } from './dead-letters.ts'

/** A valid id that no delivery has. */
export const UNKNOWN_ID = '0'.repeat(32)

/** An inbox with the ids of its deliveries by state. */
export interface FilledInbox {
  path: string
  inbox: ReturnType<typeof createSqliteInbox>
  done: string[]
  dead: string[]
  unhandled: string[]
  waiting: string[]
  /** Runs a `geohook inbox` command on this inbox. */
  run(...args: string[]): Promise<RunResult>
}

type WithInbox = (
  counts: { done?: number; dead?: number; unhandled?: number; waiting?: number },
  use: (filled: FilledInbox) => Promise<void>,
) => Promise<void>

/** Creates a folder for one test file, and a function that gives a test an inbox with deliveries in given states. */
export function createInboxes(): { folder: string; withInbox: WithInbox } {
  const { path: folder } = createFolder()
  let number = 0
  return {
    folder,
    async withInbox(counts, use) {
      const path = join(folder, `inbox-${number++}.db`)
      const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
      try {
        const done = await fill(inbox, payloads(counts.done ?? 0))
        await handleAll(inbox)
        const dead = await fill(inbox, payloads(counts.dead ?? 0))
        await handleAll(inbox, 'the map is away\n  at line 2')
        const unhandled = await fill(inbox, payloads(counts.unhandled ?? 0))
        if (unhandled.length > 0) await leaveAll(inbox)
        const waiting = await fill(inbox, payloads(counts.waiting ?? 0))
        const run = (...args: string[]): Promise<RunResult> => geohook(['inbox', ...args, '--store', path])
        await use({ path, inbox, done, dead, unhandled, waiting, run })
      } finally {
        await inbox.close()
      }
    },
  }
}

export const linesOf = ({ stdout }: RunResult): string[] => stdout.trimEnd().split('\n')
