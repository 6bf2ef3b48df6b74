import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CLI, createFolder, startGeohook, untilProcessTitle } from '../../helpers/cli.ts'
import { send } from '../../helpers/http.ts'
import { startNode } from '../../helpers/process.ts'
import { startTarget } from '../../helpers/target.ts'
import { commandsIn, describeCommands, KEY, useTarget } from './commands.ts'

// `secrecy.long.ts` tests every command with every way to give a key, with and without --json.
describeCommands(
  [],
  (command, way) => command === 'sign' || way === '--key' || way.startsWith('the key in place'),
)

const target = useTarget()
const folder = createFolder()
const commands = commandsIn(folder)

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

  it('is not in the output, captures or process list entry of listen', async () => {
    const captures = join(folder.path, 'captures')
    const listener = startGeohook(['listen', '--port', '0', '--key', KEY, '--save', captures])
    try {
      const [, url = ''] = await listener.printed(/(http:\S+)/)
      const commandLine = readFileSync(`/proc/${listener.child.pid}/cmdline`, 'utf8')
      expect(commandLine.replaceAll('\0', '').trim()).toBe('geohook listen')
      await send(url, { headers: { 'x-service': 'bad' }, body: '{}' })
      const [, file = ''] = await listener.printed(/saved: (\S+)/)
      expect(readFileSync(file, 'utf8')).not.toContain(KEY)
    } finally {
      await listener.stop()
    }
    expect(listener.output).not.toContain(KEY)
  })

  it.each(Object.keys(commands))('is hidden from ps before %s reads any input', async (name) => {
    // The command keeps running, because its standard input stays open or its target does not respond.
    const silent = await startTarget(() => {})
    const waiting: Record<string, string[]> = {
      sign: ['sign', '-'],
      verify: ['verify', '-', '--signature', 'x'],
      explain: ['explain', '--body', '-'],
    }
    const args = waiting[name] ?? (commands[name]?.(silent.url) as string[])
    const started = startNode([CLI, ...args, '--key', KEY], {}, { stdin: 'open' })
    try {
      await untilProcessTitle(started.child.pid, `geohook ${name}`)
    } finally {
      await started.stop()
      await silent.close()
    }
  })
})
