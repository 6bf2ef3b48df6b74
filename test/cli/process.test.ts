// @module-tag sqlite
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { beforeAll, describe, expect, it } from 'vitest'
import { CLI, createFolder, geohook, startProcess, untilProcessTitle } from '../helpers/cli.ts'
import { startHeldTarget, withTarget } from '../helpers/cli-servers.ts'
import { fill, payloads } from '../helpers/dead-letters.ts'
import { KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { hasTerminal, startInTerminal } from '../helpers/terminal.ts'

// What only a process has: exit code, signals, title, pipes. All other tests run commands in the process of the tests.

const folder = createFolder()
const body = folder.file('body.json', payloadOf('FeaturesCreated'))
const store = join(folder.path, 'inbox.db')
const env = { SIGNATURE_KEY: KEY }

beforeAll(async () => {
  const inbox = createSqliteInbox({ path: store })
  await fill(inbox, payloads(1))
  await inbox.close()
})

/** Commands that open sockets or files, which could keep the process alive. */
const COMMANDS: Record<string, (url: string) => string[]> = {
  send: (url) => ['send', body, '--to', url],
  'inbox list': () => ['inbox', 'list', '--store', store],
}

describe.concurrent('geohook in its own process', () => {
  it.each(Object.entries(COMMANDS))('exits, with the same result as in another process: %s', (_, toArgs) =>
    withTarget(async ({ url }) => {
      const own = startProcess(toArgs(url), { env })
      const other = await geohook(toArgs(url), { env })
      expect(await own.exited).toBe(other.code)
      expect({ stdout: own.stdout, stderr: own.stderr }).toEqual({
        stdout: other.stdout,
        stderr: other.stderr,
      })
      expect(own.output).not.toBe('')
    }),
  )

  it('reads standard input', async () => {
    const signing = startProcess(['sign', '-'], { env, stdin: Uint8Array.of(0, 255) })
    expect(await signing.exited).toBe(0)
    expect(signing.stdout).toBe(`${signatureOf(Uint8Array.of(0, 255))}\n`)
  })

  it.skipIf(!hasTerminal)('shows colours on a terminal', async () => {
    const verifying = startInTerminal(
      [CLI, 'verify', body, '--signature', signatureOf(readFileSync(body))],
      env,
    )
    expect(await verifying.exited).toBe(0)
    expect(verifying.stdout).toContain('\u001b[32mverified')
  })

  it('hides its arguments from the process list before it reads any input', async () => {
    const started = startProcess(['sign', '-', '--key', KEY], { stdin: 'open' })
    try {
      await untilProcessTitle(started.child.pid, 'geohook sign')
    } finally {
      await started.stop()
    }
  })
})

describe.concurrent('Ctrl-C', () => {
  it('stops geohook listen with exit code 0 while a sender keeps a connection open', async () => {
    const listener = startProcess(['listen', '--port', '0'], { env })
    const [, url = ''] = await listener.printed(/(http:\S+\/)/)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => {})
    expect(readFileSync(`/proc/${listener.child.pid}/cmdline`, 'utf8')).toMatch(/^geohook listen\0*$/)
    expect(await listener.stop('SIGINT')).toBe(0)
    socket.destroy()
  })

  it('stops geohook mock with exit code 0, as SIGTERM does', async () => {
    const mock = startProcess(['mock', '--port', '0'])
    await mock.printed(/mock service on/)
    expect(await mock.stop('SIGTERM')).toBe(0)
  })

  it('ends any other command at once', async () => {
    const target = await startHeldTarget()
    const sending = startProcess(['send', body, '--to', target.url], { env })
    await target.arrived(1)
    expect(await sending.stop('SIGINT')).toBe(null)
    await target.close()
  })
})

describe.concurrent('standard output', () => {
  it('closed by its reader makes a command exit without an error', async () => {
    const help = startProcess(['--help'])
    help.child.stdout?.destroy()
    await help.exited
    expect(help.stderr).toBe('')
  })

  it('closed by its reader makes geohook listen exit without an error', async () => {
    const listener = startProcess(['listen', '--port', '0'], { env })
    const [, url = ''] = await listener.printed(/(http:\S+)/)
    listener.child.stdout?.destroy()
    const headers = { 'content-type': 'application/json', 'x-service': signatureOf('{}') }
    expect((await send(url, { headers, body: '{}' })).status).toBe(200)
    await listener.exited
    expect(listener.stderr).toBe('')
  })

  it.runIf(existsSync('/dev/full'))('on a full disk makes a command exit with 2 and an error', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [CLI, 'key'], { stdio: ['ignore', full, 'pipe'] })
    let stderr = ''
    child.stderr?.on('data', (text) => (stderr += text))
    const [code] = await once(child, 'close')
    closeSync(full)
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: cannot write the output: ENOSPC\n' })
  })
})
