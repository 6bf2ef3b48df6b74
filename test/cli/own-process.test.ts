// @module-tag sqlite
import { join } from 'node:path'
import { createSqliteInbox } from 'geohook/sqlite'
import { beforeAll, describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { createFolder, geohook } from '../helpers/cli.ts'
import { useGeohook } from '../helpers/cli-host.ts'
import { fill, payloads } from '../helpers/dead-letters.ts'
import { KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { UNKNOWN_ID } from '../helpers/inboxes.ts'
import { commandsIn, useTarget } from './secrecy/commands.ts'

const folder = createFolder()
const target = useTarget()
const shared = useGeohook()
const body = folder.file('body.json', payloadOf('FeaturesCreated'))
const path = join(folder.path, 'inbox.db')
const PARCELS = 'Parcels.FeatureServer'
const EXTRACT = '/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]'
const env = { GEOHOOK_INBOX: path, SIGNATURE_KEY: KEY }

beforeAll(async () => {
  const inbox = createSqliteInbox({ path })
  await fill(inbox, payloads(1))
  await inbox.close()
})

/** Every command except the servers and the demo. With these arguments, two runs print the same result. */
const COMMANDS: Record<string, (url: string) => { args: string[]; code?: number }> = {
  send: (url) => ({ args: ['send', body, '--to', url] }),
  replay: (url) => ({ args: commandsIn(folder).replay?.(url) ?? [] }),
  sign: () => ({ args: ['sign', body] }),
  verify: () => ({ args: ['verify', body, '--signature', signatureOf('other')], code: 1 }),
  check: () => ({ args: ['check', 'http://127.0.0.1:1/'], code: 3 }),
  explain: () => ({ args: ['explain', '--body', body, '--header', 'x-service: 00'], code: 1 }),
  key: () => ({ args: ['key', '--bytes', '1'], code: 2 }),
  list: (url) => ({ args: ['list', '--url', url] }),
  create: (url) => ({ args: ['create', PARCELS, '--name', 'n', '--hook-url', url, '--url', url] }),
  edit: (url) => ({ args: ['edit', PARCELS, 'w1', '--name', 'edits', '--url', url] }),
  delete: (url) => ({ args: ['delete', PARCELS, 'w1', '--url', url] }),
  'edit-features': (url) => ({ args: ['edit-features', PARCELS, '--add', '{}', '--url', url], code: 2 }),
  changes: (url) => ({ args: ['changes', `${url}${EXTRACT}`], code: 1 }),
  trigger: (url) => ({ args: ['trigger', PARCELS, 'FeaturesCreated', '--url', url], code: 1 }),
  'inbox stats': () => ({ args: ['inbox', 'stats', '--store-env', 'GEOHOOK_INBOX', '--json'] }),
  'inbox list': () => ({ args: ['inbox', 'list', '--json'] }),
  'inbox show': () => ({ args: ['inbox', 'show', UNKNOWN_ID], code: 1 }),
  'inbox retry': () => ({ args: ['inbox', 'retry', UNKNOWN_ID], code: 1 }),
  'inbox discard': () => ({ args: ['inbox', 'discard', UNKNOWN_ID], code: 1 }),
  'inbox purge': () => ({ args: ['inbox', 'purge', '--state', 'done'] }),
  'inbox export': () => ({ args: ['inbox', 'export', UNKNOWN_ID, '--out', folder.path], code: 1 }),
  'inbox backup': () => ({ args: ['inbox', 'backup', path], code: 2 }),
}

// Other tests run commands in a shared process. There, a command that keeps the process alive would go unnoticed.
describe.concurrent('a command in its own process exits, with the same output as in a shared process', () => {
  it.each(Object.entries(COMMANDS))('%s', async (_, toCase) => {
    const { args, code = 0 } = toCase(target.url)
    const [own, other] = [await geohook(args, { env }), await shared.geohook(args, { env })]
    expect([own.code, own.stderr]).toEqual([code, other.stderr])
    expect(withoutAge(own.stdout)).toBe(withoutAge(other.stdout))
    expect(own.stdout + own.stderr).not.toBe('')
  })
})

/** Replaces the age, which differs between two runs. */
const withoutAge = (stdout: string): string => stdout.replace(/"age": \d+/, '"age": 0')

it('covers every command except the servers and the demo', () => {
  const names = createProgram().commands.flatMap((command) =>
    command.commands.length > 0
      ? command.commands.map((subcommand) => `${command.name()} ${subcommand.name()}`)
      : [command.name()],
  )
  const excluded = ['demo', 'listen', 'mock', 'inbox ui']
  expect([...Object.keys(COMMANDS), ...excluded].sort()).toEqual(names.sort())
})
