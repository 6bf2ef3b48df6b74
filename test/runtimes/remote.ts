import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Start as StartChanges, Used } from '../changes/contract/subject.ts'
import type { Entry } from '../contract/log.ts'
import type { Start } from '../contract/subject.ts'
import type { Administered } from './app/admin.ts'
import type { Runtime } from './runtimes.ts'

/** Starts receivers in a process of another runtime, and reads their logs over HTTP. */
export async function startRemote(
  { name, bin, args, reports, app, host = {} }: Runtime,
  folder: string,
): Promise<{
  start: Start
  use: StartChanges
  administer(url: string): Promise<Administered>
  stop(): Promise<void>
}> {
  const program = join(import.meta.dirname, 'node_modules', bin)
  const child = spawn(program, [...args, join(folder, app)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const origin = `http://127.0.0.1:${await portOf(child)}`
  const reported = await (await fetch(`${origin}/plain/0/runtime`)).json()
  if (!String(reported).startsWith(reports)) throw new Error(`${name} runs on ${reported}`)
  let count = 0
  return {
    async start(setup, { bodyIsRead } = {}) {
      const base = `${origin}/${setup}/${++count}`
      const control = async (action: string): Promise<readonly Entry[]> =>
        (await fetch(`${base}/${action}`)).json() as Promise<readonly Entry[]>
      return {
        url: `${base}/${bodyIsRead ? 'read' : 'hook'}`,
        host,
        entries: () => control('entries'),
        changed: () => setTimeout(5),
        release: async () => void (await control('release')),
        close: async () => void (await control('close')),
      }
    },
    async use(use) {
      const response = await fetch(`${origin}/changes`, { method: 'POST', body: JSON.stringify(use) })
      return (await response.json()) as Used
    },
    async administer(url) {
      const response = await fetch(`${origin}/admin`, { method: 'POST', body: JSON.stringify(url) })
      return (await response.json()) as Administered
    },
    async stop() {
      const closed = new Promise((resolve) => child.once('close', resolve))
      child.kill()
      await closed
    },
  }
}

/** Reads the port that the app prints. */
async function portOf(child: ChildProcess): Promise<number> {
  let output = ''
  return new Promise((resolve, reject) => {
    const read = (text: string): void => {
      output += text
      const port = /port\D{1,3}(\d+)/.exec(output)?.[1]
      if (port) resolve(Number(port))
    }
    child.stdout?.setEncoding('utf8').on('data', read)
    child.stderr?.setEncoding('utf8').on('data', read)
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`the app exited with ${code}:\n${output}`)))
  })
}
