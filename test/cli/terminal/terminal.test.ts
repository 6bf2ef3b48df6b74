import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, startGeohook } from '../../helpers/cli.ts'
import { startHeldTarget } from '../../helpers/cli-servers.ts'
import { fill, handleAll, ONE_ATTEMPT, payloads } from '../../helpers/dead-letters.ts'
import { KEY } from '../../helpers/deliver.ts'

const CLEAR_LINE = '\r\u001b[2K'

const folder = createFolder()
const body = folder.file('body.json', '{}')

describe('on a terminal', () => {
  it('truncates the error of a dead letter to the width of the terminal', {
    tags: ['sqlite'],
  }, async () => {
    const path = join(folder.path, 'inbox.db')
    const inbox = createSqliteInbox({ path, ...ONE_ATTEMPT })
    await fill(inbox, payloads(2))
    await handleAll(inbox, 'far away '.repeat(100))
    await inbox.close()
    const rowsAt = async (columns: number): Promise<string[]> =>
      (await geohook(['inbox', 'list', '--store', path], { columns })).stdout.trim().split('\n').slice(1)
    for (const row of await rowsAt(170)) expect(row).toHaveLength(170)
    // Errors have a minimum length, also where the other columns need the whole width.
    const narrow = await rowsAt(80)
    expect(narrow).toHaveLength(2)
    for (const row of narrow) expect(row).toMatch(/Error: far .{0,12}…$/)
  })

  it('shows progress in a single line, and removes it at the end', async () => {
    const target = await startHeldTarget()
    const sending = startGeohook(['send', body, '--to', target.url, '--key', KEY], {
      columns: 80,
      pace: 0.01,
    })
    await target.arrived(1)
    await sending.printed(/(waiting for[\s\S]*){2}/)
    target.release()
    expect(await sending.exited).toBe(0)
    await target.close()
    const reports = sending.stderr.split(CLEAR_LINE).filter((line) => line.startsWith('waiting for'))
    expect(reports.length).toBeGreaterThan(1)
    expect(reports.join('')).not.toContain('\n')
    expect(sending.stderr.slice(sending.stderr.lastIndexOf(CLEAR_LINE))).not.toContain('waiting for')
  })
})
