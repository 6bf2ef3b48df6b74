import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { POINTS, type Point } from './plan.ts'

/** A running receiver process. */
export interface Process {
  /** Emits an event when the process reaches a point. The event has the name of the point. */
  readonly points: EventEmitter<Record<Point, []>>
  /** Resolves when the process listens. Rejects if the process exits first. */
  readonly listening: Promise<void>
  /** Standard error output so far. */
  readonly errors: string
  readonly ended: boolean
  /** Sends a signal and waits for the exit. Resolves with the exit code and the signal that terminated the process. */
  end(signal: NodeJS.Signals): Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

const app = fileURLToPath(new URL('app.mjs', import.meta.url))
const NAMES = new Map(Object.entries(POINTS).map(([name, letter]) => [letter as string, name as Point]))

export function startReceiver(env: Record<string, string>): Process {
  const child = spawn(process.execPath, [app], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
  })
  const points = new EventEmitter<Record<Point, []>>()
  const [, , , pipe] = child.stdio as unknown as Readable[]
  pipe?.setEncoding('utf8').on('data', (letters: string) => {
    for (const letter of letters) points.emit(NAMES.get(letter) as Point)
  })
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  child.stdin?.on('error', () => {})
  let ended = false
  const closed = once(child, 'close').then(([code, signal]) => {
    ended = true
    return [code, signal] as [number | null, NodeJS.Signals | null]
  })
  const listening = Promise.race([
    once(points, 'listening').then(() => {}),
    closed.then(([code]) => {
      throw new Error(`the receiver ended with ${code} before it listened:\n${errors}`)
    }),
  ])
  // Prevents an unhandled rejection if the process is killed before anything awaits this promise.
  listening.catch(() => {})
  return {
    points,
    listening,
    get errors() {
      return errors
    },
    get ended() {
      return ended
    },
    async end(signal) {
      child.kill(signal)
      return closed
    },
  }
}
