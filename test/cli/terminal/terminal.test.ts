import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { CLI, createFolder } from '../../helpers/cli.ts'
import { startHeldTarget } from '../../helpers/cli-servers.ts'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../../helpers/dead-letters.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import type { Started } from '../../helpers/process.ts'
import { hasTerminal, startInTerminal } from '../../helpers/terminal.ts'

const CLEAR_LINE = '\r\u001b[2K'

const folder = createFolder()
const body = folder.file('body.json', '{}')

/** Starts the command line in a terminal. */
const start = (args: string[], env?: Record<string, string>): Started =>
  startInTerminal([CLI, ...args], { SIGNATURE_KEY: KEY, ...env })

/** Runs the command line in a terminal. */
async function runInTerminal(args: string[], env?: Record<string, string>) {
  const started = start(args, env)
  const code = await started.exited
  return { code, output: started.stdout }
}

describe.skipIf(!hasTerminal)('on a terminal', () => {
  const verify = ['verify', body, '--signature', signatureOf('{}')]
  const green = '\u001b[32m'

  it.each<[string, Record<string, string>, boolean]>([
    ['shows colours', {}, true],
    ['shows no colours with NO_COLOR', { NO_COLOR: '1' }, false],
    ['shows no colours with TERM=dumb', { TERM: 'dumb' }, false],
  ])('%s', async (_, env, isColoured) => {
    const { code, output } = await runInTerminal(verify, env)
    expect([code, output.includes(green)]).toEqual([0, isColoured])
    expect(output).toContain('verified')
  })

  it('truncates the error of a dead letter to the width of the terminal', {
    tags: ['sqlite'],
  }, async () => {
    const path = join(folder.path, 'inbox.db')
    const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
    await fill(inbox, payloads(2))
    await handleAll(inbox, 'far away '.repeat(100))
    await inbox.close()
    const { code, output } = await runInTerminal(['inbox', 'list', '--store', path])
    expect(code).toBe(0)
    const rows = output.trim().split('\r\n').slice(1)
    expect(rows).toHaveLength(2)
    // The pseudo-terminal has no known width, so the errors are truncated to the minimum length.
    for (const row of rows) expect(row).toMatch(/Error: far .{0,12}…$/)
  })

  it('shows progress in a single line, and removes it at the end', async () => {
    const target = await startHeldTarget()
    const sending = start(['send', body, '--to', target.url])
    await sending.printed(/(waiting for[\s\S]*){2}/)
    target.release()
    expect(await sending.exited).toBe(0)
    await target.close()
    const reports = sending.stdout.split(CLEAR_LINE).filter((line) => line.startsWith('waiting for'))
    expect(reports.length).toBeGreaterThan(1)
    expect(reports.join('')).not.toContain('\n')
    expect(sending.stdout.slice(sending.stdout.lastIndexOf(CLEAR_LINE))).not.toContain('waiting for')
  })
})
