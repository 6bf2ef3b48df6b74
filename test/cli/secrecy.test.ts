import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI, createFolder, startGeohook } from '../helpers/cli.ts'
import { payloadOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { startNode } from '../helpers/process.ts'
import { startTarget, type Target } from '../helpers/target.ts'

/** Nothing else looks like it. */
const KEY = 'Geheimnis0123456789Kataster'
const folder = createFolder()
const body = folder.file('body.json', payloadOf('FeaturesCreated'))
const keyFile = folder.file('key.txt', `${KEY}\n`)
const padded = folder.file('padded.txt', ` ${KEY}\n`)
const capture = folder.file(
  'capture.json',
  JSON.stringify({
    geohook: 'capture',
    version: 1,
    receivedAt: '2026-01-02T03:04:05.678Z',
    method: 'POST',
    url: '/',
    headers: [['x-service', 'none']],
    body: '',
    outcome: { status: 401 },
  }),
)

const WEBHOOK = {
  id: 'w1',
  folderName: '',
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  name: 'edits',
  changeTypes: ['*'],
  hookUrl: 'http://127.0.0.1:1/',
  signatureKey: KEY,
  active: true,
}

let target: Target
beforeAll(async () => {
  // A service that shows the keys, as the mock does, and a receiver at the root.
  target = await startTarget((res, { url }) => {
    const isService = url.startsWith('/services/')
    res.end(
      JSON.stringify(isService ? { ...WEBHOOK, webhooks: [WEBHOOK], status: 'success' } : { status: 'ok' }),
    )
  })
})
afterAll(() => target.close())

/** Every command that takes a key, or is shown one. */
const COMMANDS: Record<string, (url: string) => string[]> = {
  sign: () => ['sign', body],
  verify: () => ['verify', body, '--signature', 'none'],
  send: (url) => ['send', body, '--to', url],
  replay: (url) => ['replay', capture, '--to', url, '--resign'],
  explain: () => ['explain', capture],
  create: (url) => ['create', 'P.GPServer', '--name', 'n', '--hook-url', url, '--url', url],
  edit: (url) => ['edit', 'Parcels.FeatureServer', 'edits', '--url', url],
}

const KEYS: [string, string[], Record<string, string>][] = [
  ['--key', ['--key', KEY], {}],
  ['--key-env', ['--key-env', 'MY_KEY'], { MY_KEY: KEY }],
  ['--key-file', ['--key-file', keyFile], {}],
  ['SIGNATURE_KEY', [], { SIGNATURE_KEY: KEY }],
]

/** Mistakes in which a key is easily quoted. */
const MISTAKES: [string, string[], Record<string, string>][] = [
  ['white space around it', ['--key', ` ${KEY}`], {}],
  ['white space in the file', ['--key-file', padded], {}],
  ['the key in place of a variable', ['--key-env', KEY], {}],
  ['the key in place of its file', ['--key-file', KEY], {}],
  ['a misspelt option', [`--kye=${KEY}`], {}],
  ['an option and the key in one word', [`--key${KEY}`], {}],
  ['a short option', [`-k${KEY}`], {}],
  ['two kinds', ['--key', KEY, '--key-env', 'MY_KEY'], { MY_KEY: KEY }],
]

describe.concurrent.each(Object.entries(COMMANDS))('geohook %s', (_, args) => {
  it.each([...KEYS, ...MISTAKES])('never shows the key: %s', async (_, given, env) => {
    for (const json of [[], ['--json']]) {
      const started = startGeohook([...args(target.url), ...given, ...json], { env })
      await started.exited
      expect(started.output).not.toBe('')
      expect(started.output).not.toContain(KEY)
    }
  })
})

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

  it.each(Object.keys(COMMANDS))(
    '%s takes it out of the list of processes before it reads anything',
    async (name) => {
      // A standard input or a target that keeps the command waiting, so that it can be looked at.
      const slow = await startTarget(() => {})
      const waiting: Record<string, string[]> = {
        sign: ['sign', '-'],
        verify: ['verify', '-', '--signature', 'x'],
        explain: ['explain', '--body', '-'],
      }
      const args = waiting[name] ?? (COMMANDS[name]?.(slow.url) as string[])
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
