import { type ExecException, exec } from 'node:child_process'
import { promisify } from 'node:util'
import type { HandlerSwitch, Observer } from '../../check/index.ts'
import type { Trust } from '../../shared/tls-trust.node.ts'
import { sendRequest } from '../io/http.ts'
import type { Io } from '../terminal/io.ts'

/** Milliseconds for one call of an observer. */
const TIMEOUT = 10_000
/** Characters of output that can be a number. */
const MAX_OUTPUT = 10_000

/** Requests the number from a URL. */
export function urlObserver(url: URL, trust: Trust): Observer {
  return async (id) => {
    const withId = new URL(url.href.replaceAll(/\{id\}|%7Bid%7D/gi, id))
    const { status, body } = await sendRequest(
      withId,
      { method: 'GET', headers: [], body: Buffer.alloc(0) },
      { timeout: TIMEOUT, trust },
    )
    if (status !== 200) throw new Error(`the observer answered ${status}`)
    return toCount(body.toString())
  }
}

/** Reads the number from the output of a shell command. */
export const commandObserver =
  (io: Io, command: string): Observer =>
  async (id) =>
    toCount(await run(io, 'observer', command, { GEOHOOK_CHECK_ID: id }))

/** Makes the handler fail or work again, by a shell command. */
export const commandSwitch =
  (io: Io, command: string): HandlerSwitch =>
  (id, fails) =>
    run(io, 'fail', command, { GEOHOOK_CHECK_ID: id, GEOHOOK_CHECK_FAIL: fails ? '1' : '0' })

async function run(
  io: Io,
  name: string,
  command: string,
  variables: Record<string, string>,
): Promise<string> {
  try {
    const options = { timeout: TIMEOUT, maxBuffer: MAX_OUTPUT, env: { ...io.host.env, ...variables } }
    return (await promisify(exec)(command, options)).stdout
  } catch (error) {
    throw new Error(`the ${name} command failed: ${whyFailed(error as ExecException)}`)
  }
}

/** Describes a failure without Node's message, which contains the command, and so perhaps a secret. */
function whyFailed({ code, killed, signal }: ExecException): string {
  if (String(code) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it printed too much'
  if (killed) return `no result within ${TIMEOUT / 1000} s`
  return signal ?? `exit code ${code}`
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
