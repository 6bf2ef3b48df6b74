import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Entry } from '../contract/log.ts'
import type { Start } from '../contract/subject.ts'
import type { Runtime } from './runtimes.ts'

/** Starts receivers in a process of another runtime; what they were told is asked for over HTTP. */
export async function startThere(
  { name, bin, args, says, app, host = {} }: Runtime,
  folder: string,
): Promise<{ start: Start; stop(): Promise<void> }> {
  const program = join(import.meta.dirname, 'node_modules', bin)
  const child = spawn(program, [...args, join(folder, app)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const origin = `http://127.0.0.1:${await portOf(child)}`
  const said = await (await fetch(`${origin}/plain/0/runtime`)).json()
  if (!String(said).startsWith(says)) throw new Error(`${name} runs on ${said}`)
  let count = 0
  return {
    async start(setup, { bodyIsRead } = {}) {
      const base = `${origin}/${setup}/${++count}`
      const ask = async (what: string): Promise<readonly Entry[]> =>
        (await fetch(`${base}/${what}`)).json() as Promise<readonly Entry[]>
      return {
        url: `${base}/${bodyIsRead ? 'read' : 'hook'}`,
        host,
        entries: () => ask('entries'),
        changed: () => setTimeout(5),
        release: async () => void (await ask('release')),
        close: async () => void (await ask('close')),
      }
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('close', resolve))
      child.kill()
      await gone
    },
  }
}

/** Every app prints the port it was given. */
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
    child.once('close', (code) => reject(new Error(`it ended with ${code}:\n${output}`)))
  })
}
