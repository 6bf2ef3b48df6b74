import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { createFolder, type Ran } from './cli.ts'
import { useGeohook } from './cli-host.ts'
import { fill, ONE_ATTEMPT, payloads, workOff } from './dead-letters.ts'

/** An id that no delivery has. */
export const NOBODY = '0'.repeat(32)

/** What a test has in its inbox: ids by state. */
export interface Filled {
  path: string
  inbox: ReturnType<typeof createSqliteInbox>
  done: string[]
  dead: string[]
  waiting: string[]
  /** Runs a command of `geohook inbox` over it. */
  run(...args: string[]): Promise<Ran>
}

type WithInbox = (
  counts: { done?: number; dead?: number; waiting?: number },
  use: (filled: Filled) => Promise<void>,
) => Promise<void>

/** For one test file: its folder, and what gives each test an inbox with so many deliveries in each state. */
export function createInboxes(): { folder: string; withInbox: WithInbox } {
  const { path: folder } = createFolder()
  const { geohook } = useGeohook()
  let number = 0
  return {
    folder,
    async withInbox(counts, use) {
      const path = join(folder, `inbox-${number++}.db`)
      const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
      try {
        const done = await fill(inbox, payloads(counts.done ?? 0))
        await workOff(inbox)
        const dead = await fill(inbox, payloads(counts.dead ?? 0))
        await workOff(inbox, 'the map is away\n  at line 2')
        const waiting = await fill(inbox, payloads(counts.waiting ?? 0))
        const run = (...args: string[]): Promise<Ran> => geohook(['inbox', ...args, '--store', path])
        await use({ path, inbox, done, dead, waiting, run })
      } finally {
        await inbox.close()
      }
    },
  }
}

export const linesOf = ({ stdout }: Ran): string[] => stdout.trimEnd().split('\n')
