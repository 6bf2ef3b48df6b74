import type { Receiver } from 'geohook'
import type { Log } from '../../contract/log.ts'
import { createSubject, type SetupName } from '../../contract/setups.ts'

type Subject = ReturnType<typeof createSubject>

const subjects = new Map<string, Subject>()

/** What a path of the app under test asks for: `/<setup>/<number>/<what>`. A subject is made when it is first named. */
export function route(url: string): { receiver: Receiver; log: Log; what: string } {
  const [, setup = '', number = '', what = ''] = new URL(url, 'http://here').pathname.split('/')
  const id = `${setup}/${number}`
  const subject = subjects.get(id) ?? createSubject(setup as SetupName)
  subjects.set(id, subject)
  return { ...subject, what }
}

/** What this runs on, so that no column of the matrix is something else by mistake. */
function runtime(): string {
  const { process, navigator } = globalThis as {
    process?: { version: string }
    navigator?: { userAgent: string }
  }
  const agent = navigator?.userAgent ?? ''
  return /^(Bun|Deno|Cloudflare)/.exec(agent)?.[0] ?? `Node ${process?.version}`
}

/** What the test asks of a subject beside its deliveries; the answer in JSON. */
export function control(what: string, { receiver, log }: Subject): string {
  if (what === 'release') log.release()
  // Not awaited: the test still has deliveries at work then, and waits for their answers.
  if (what === 'close') void receiver.close()
  if (what === 'runtime') return JSON.stringify(runtime())
  return JSON.stringify(log.entries)
}
