import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import type { Observer } from '../../check/index.ts'
import { sendRequest } from '../io/http.ts'

/** Milliseconds for one call of an observer. */
const TIMEOUT = 10_000
/** Characters of output that can be a number. */
const MAX_OUTPUT = 10_000

/** Requests the number from a URL. */
export function urlObserver(url: URL): Observer {
  return async (id) => {
    const withId = new URL(url.href.replaceAll(/\{id\}|%7Bid%7D/gi, id))
    const { status, body } = await sendRequest(
      withId,
      { method: 'GET', headers: [], body: Buffer.alloc(0) },
      { timeout: TIMEOUT },
    )
    if (status !== 200) throw new Error(`the observer answered ${status}`)
    return toCount(body.toString())
  }
}

/** Reads the number from the output of a shell command. */
export function commandObserver(command: string): Observer {
  return async (id) => {
    try {
      const options = {
        timeout: TIMEOUT,
        maxBuffer: MAX_OUTPUT,
        env: { ...process.env, GEOHOOK_CHECK_ID: id },
      }
      const { stdout } = await promisify(exec)(command, options)
      return toCount(stdout)
    } catch (error) {
      // Node's message contains the command, which can contain a secret.
      const { code, killed } = error as { code?: number | string; killed?: boolean }
      if (code === undefined && !killed) throw error
      throw new Error(`the observer command failed: ${killed ? 'no result in time' : `exit code ${code}`}`)
    }
  }
}

/** Reads `7` or `{"count": 7}`. */
function toCount(text: string): number {
  const invalid = new Error('the observer returned neither a number nor {"count": n}')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid
  }
  const count = typeof value === 'object' && value !== null ? (value as { count?: unknown }).count : value
  if (typeof count === 'number') return count
  throw invalid
}
