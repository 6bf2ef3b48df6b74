import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CLI, createFolder, startGeohook } from '../../helpers/cli.ts'
import { send } from '../../helpers/http.ts'
import { startNode } from '../../helpers/process.ts'
import { startTarget } from '../../helpers/target.ts'
import { commandsIn, describeCommands, KEY, useTarget } from './commands.ts'

// All commands with all ways, and with --json, run in secrecy.long.ts.
describeCommands(
  [],
  (command, way) => command === 'sign' || way === '--key' || way.startsWith('the key in place'),
)

const target = useTarget()
const folder = createFolder()
const commands = commandsIn(folder)

describe.concurrent('what is not a process of its own for long', () => {
  it('list and edit show that there is a key, not which', async () => {
    const list = startGeohook(['list', '--url', target.url])
    const listed = startGeohook(['list', '--url', target.url, '--json'])
    const edited = startGeohook([
      'edit',
      'Parcels.FeatureServer',
      'w1',
      '--name',
      'x',
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

  it('listen has it neither in its output, nor in its captures, nor in the list of processes', async () => {
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

  it.each(Object.keys(commands))(
    '%s takes it out of the list of processes before it reads anything',
    async (name) => {
      // A standard input or a target that keeps the command waiting, so that it can be looked at.
      const slow = await startTarget(() => {})
      const waiting: Record<string, string[]> = {
        sign: ['sign', '-'],
        verify: ['verify', '-', '--signature', 'x'],
        explain: ['explain', '--body', '-'],
      }
      const args = waiting[name] ?? (commands[name]?.(slow.url) as string[])
      const started = startNode([CLI, ...args, '--key', KEY], {}, { stdin: 'open' })
      try {
        await untilRenamed(started.child.pid, name)
      } finally {
        await started.stop()
        await slow.close()
      }
    },
  )
})

/** Looks again and again, because nothing tells when a process renames itself. */
async function untilRenamed(pid: number | undefined, name: string): Promise<void> {
  for (;;) {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    if (commandLine.replaceAll('\0', '').trim() === `geohook ${name}`) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
