import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const app = fileURLToPath(new URL('app.mjs', import.meta.url))

/** A receiver process. */
export interface Child {
  readonly errors: string
  readonly ended: boolean
  /** Waits until the condition is true. Rejects if the process exits; resolves after the timeout. */
  until(condition: () => Promise<boolean>, timeout?: number): Promise<void>
  end(signal: NodeJS.Signals): Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

export function startChild(env: Record<string, string>): Child {
  const child = spawn(process.execPath, [app], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  child.stdin.on('error', () => {})
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-10_000)
  })
  let ended = false
  const closed = once(child, 'close').then((result) => {
    ended = true
    return result as [number | null, NodeJS.Signals | null]
  })
  return {
    get errors() {
      return errors
    },
    get ended() {
      return ended
    },
    async until(condition, timeout = 30_000) {
      for (const deadline = Date.now() + timeout; Date.now() < deadline && !(await condition()); ) {
        if (ended) throw new Error(`the receiver ended by itself:\n${errors}`)
        await setTimeout(50)
      }
    },
    async end(signal) {
      child.kill(signal)
      return closed
    },
  }
}
