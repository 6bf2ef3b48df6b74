import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { CLI, createFolder } from '../../helpers/cli.ts'
import { fill, ONE_ATTEMPT, payloads, workOff } from '../../helpers/dead-letters.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget } from '../../helpers/target.ts'

const folder = createFolder()
const body = folder.file('body.json', '{}')

/** Python's standard library opens a terminal. Where it must be there, a lack of it fails the test. */
const hasPython = process.env.CI === 'true' || spawnSync('python3', ['--version']).error === undefined
const SPAWN = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

/** Runs the command line in a terminal, where both outputs are one. */
async function inTerminal(args: string[], env: Record<string, string> = {}) {
  const { NO_COLOR: _no, FORCE_COLOR: _force, CI: _ci, ...rest } = process.env
  const child = spawn('python3', ['-c', SPAWN, process.execPath, CLI, ...args], {
    env: { ...rest, TERM: 'xterm', SIGNATURE_KEY: KEY, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.on('data', (text) => (shown += text))
  const [code] = await once(child, 'close')
  return { code, shown }
}

describe.skipIf(!hasPython)('on a terminal', () => {
  const verify = ['verify', body, '--signature', signatureOf('{}')]
  const green = '\u001b[32m'

  it.each<[string, Record<string, string>, boolean]>([
    ['there are colours', {}, true],
    ['there are none with NO_COLOR', { NO_COLOR: '1' }, false],
    ['there are none where it cannot show them', { TERM: 'dumb' }, false],
  ])('%s', async (_, env, isColoured) => {
    const { code, shown } = await inTerminal(verify, env)
    expect([code, shown.includes(green)]).toEqual([0, isColoured])
    expect(shown).toContain('verified')
  })

  it('a table of dead letters keeps each on its line, where that is wide enough', {
    tags: ['sqlite'],
  }, async () => {
    const path = join(folder.path, 'inbox.db')
    const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
    await fill(inbox, payloads(2))
    await workOff(inbox, 'far away '.repeat(100))
    await inbox.close()
    const { code, shown } = await inTerminal(['inbox', 'list', '--store', path])
    expect(code).toBe(0)
    const rows = shown.trim().split('\r\n').slice(1)
    expect(rows).toHaveLength(2)
    // A terminal that does not say how wide it is counts as narrow.
    for (const row of rows) expect(row).toMatch(/Error: far .{0,12}…$/)
  })

  it('progress is one line that is rewritten, and gone in the end', async () => {
    const target = await startTarget((res) => setTimeout(() => res.end(), 1_600))
    const { code, shown } = await inTerminal(['send', body, '--to', target.url])
    await target.close()
    expect(code).toBe(0)
    const before = shown.slice(0, shown.lastIndexOf('\r\u001b[2K'))
    expect(
      before.split('\r\u001b[2K').filter((line) => line.startsWith('waiting for')).length,
    ).toBeGreaterThan(1)
    expect(shown.slice(before.length)).not.toContain('waiting for')
  })
})
