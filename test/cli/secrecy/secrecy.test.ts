import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, startGeohook } from '../../helpers/cli.ts'
import { send } from '../../helpers/http.ts'
import { describeCommands, KEY, useTarget } from './commands.ts'

// `secrecy.long.ts` tests every command with every way to give a key, with and without --json.
describeCommands(
  [],
  (command, way) => command === 'sign' || way === '--key' || way.startsWith('the key in place'),
)

const target = useTarget()
const folder = createFolder()

describe.concurrent('the key', () => {
  it('is shown as *** in the output of list and edit', async () => {
    const list = startGeohook(['list', '--url', target.url])
    const listed = startGeohook(['list', '--url', target.url, '--json'])
    const edited = startGeohook([
      'edit',
      'Parcels.FeatureServer',
      'w1',
      '--name',
      'edits',
      '--url',
      target.url,
      '--json',
    ])
    for (const started of [list, listed, edited]) {
      expect(await started.exited).toBe(0)
      expect(started.stdout).toContain('***')
      expect(started.output).not.toContain(KEY)
    }
  })

  it('is not in the output or captures of listen', async () => {
    const captures = join(folder.path, 'captures')
    const listener = startGeohook(['listen', '--port', '0', '--key', KEY, '--save', captures])
    try {
      const [, url = ''] = await listener.printed(/(http:\S+)/)
      await send(url, { headers: { 'x-service': 'bad' }, body: '{}' })
      const [, file = ''] = await listener.printed(/saved: (\S+)/)
      expect(readFileSync(file, 'utf8')).not.toContain(KEY)
    } finally {
      await listener.stop()
    }
    expect(listener.output).not.toContain(KEY)
  })
})
