import type { Host, Mount, MountOptions } from '../helpers/mounts/mounted.ts'
import type { Entry, LoggedDelivery } from './log.ts'
import { createSubject, type SetupName } from './setups.ts'

/** A receiver under test, in this process or in another runtime. */
export interface Subject {
  readonly url: string
  readonly host: Host
  entries(): Promise<readonly Entry[]>
  /** Resolves when the next entry is added. For a receiver in another runtime, resolves after 5 ms instead. */
  changed(): Promise<void>
  /** Lets waiting handlers continue. */
  release(): Promise<void>
  /** Calls `receiver.close()`. */
  close(): Promise<void>
}

/** Starts the receiver of a setup. */
export type Start = (setup: SetupName, options?: MountOptions) => Promise<Subject>

/** Returns the observer calls so far. */
export async function linesOf(subject: Subject): Promise<string[]> {
  return (await subject.entries()).flatMap(({ line }) => line ?? [])
}

/** Returns the deliveries that handlers have received so far. */
export async function deliveriesOf(subject: Subject): Promise<LoggedDelivery[]> {
  return (await subject.entries()).flatMap(({ delivery }) => delivery ?? [])
}

/** Waits until the log contains `line`. */
export async function waitForLine(subject: Subject, line: string): Promise<void> {
  for (;;) {
    const changed = subject.changed()
    if ((await linesOf(subject)).includes(line)) return
    await changed
  }
}

/** Starts receivers in this process. `stop` closes their servers. */
export function startHere(mount: Mount): { start: Start; stop(): Promise<void> } {
  const open: { close(): Promise<void> }[] = []
  return {
    async start(setup, options) {
      const { receiver, log } = createSubject(setup)
      const mounted = await mount(receiver, options)
      open.push(mounted)
      return {
        url: mounted.url,
        host: mounted.host ?? {},
        entries: async () => log.entries,
        changed: log.changed,
        release: async () => log.release(),
        close: () => receiver.close(),
      }
    },
    async stop() {
      for (const mounted of open.splice(0)) await mounted.close()
    },
  }
}
