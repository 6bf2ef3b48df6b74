import type { Receiver } from 'geohook'
import type { Log } from '../../contract/log.ts'
import { createSubject, type SetupName } from '../../contract/setups.ts'

type Subject = ReturnType<typeof createSubject>

const subjects = new Map<string, Subject>()

/** Parses a path of the app under test: `/<setup>/<number>/<action>`. Creates the subject on first use. */
export function route(url: string): { receiver: Receiver; log: Log; action: string } {
  const [, setup = '', number = '', action = ''] = new URL(url, 'http://here').pathname.split('/')
  const id = `${setup}/${number}`
  const subject = subjects.get(id) ?? createSubject(setup as SetupName)
  subjects.set(id, subject)
  return { ...subject, action }
}

/** Returns the name of the runtime. The tests use the name to check that they have started the right runtime. */
function runtime(): string {
  const { process, navigator } = globalThis as {
    process?: { version: string }
    navigator?: { userAgent: string }
  }
  const agent = navigator?.userAgent ?? ''
  return /^(Bun|Deno|Cloudflare)/.exec(agent)?.[0] ?? `Node ${process?.version}`
}

/** Performs a control action that a test requests over HTTP. Returns JSON: the log, or the name of the runtime. */
export function control(action: string, { receiver, log }: Subject): string {
  if (action === 'release') log.release()
  // The promise is not awaited, because close() waits for deliveries in flight, which the test releases later.
  if (action === 'close') void receiver.close()
  if (action === 'runtime') return JSON.stringify(runtime())
  return JSON.stringify(log.entries)
}
