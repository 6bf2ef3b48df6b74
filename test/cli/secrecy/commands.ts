import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'
import { captureJson } from '../../helpers/cli-captures.ts'
import { payloadOf } from '../../helpers/deliver.ts'
import { startTarget, type Target } from '../../helpers/target.ts'

/** A key that occurs in no other text, so that tests can search outputs for it. */
export const KEY = 'Geheimnis0123456789Kataster'

const CAPTURE = captureJson({ headers: [['x-service', 'none']], outcome: { status: 401 } })

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

/** Starts a server for one test file. Its service returns webhooks with their keys; other paths accept deliveries. */
export function useTarget(): { readonly url: string } {
  let target: Target
  beforeAll(async () => {
    target = await startTarget((res, { url }) => {
      const isService = url.startsWith('/services/')
      res.end(
        JSON.stringify(isService ? { ...WEBHOOK, webhooks: [WEBHOOK], status: 'success' } : { status: 'ok' }),
      )
    })
  })
  afterAll(() => target.close())
  return {
    get url() {
      return target.url
    },
  }
}

type Folder = ReturnType<typeof createFolder>

/** Returns every command that takes a key, with arguments but without the key. */
export function commandsIn(folder: Folder): Record<string, (url: string) => string[]> {
  const body = folder.file('body.json', payloadOf('FeaturesCreated'))
  const capture = folder.file('capture.json', JSON.stringify(CAPTURE))
  return {
    sign: () => ['sign', body],
    verify: () => ['verify', body, '--signature', 'none'],
    send: (url) => ['send', body, '--to', url],
    replay: (url) => ['replay', capture, '--to', url, '--resign'],
    check: (url) => ['check', url, '--only', 'signature-missing'],
    explain: () => ['explain', capture],
    create: (url) => ['create', 'P.GPServer', '--name', 'n', '--hook-url', url, '--url', url],
    edit: (url) => ['edit', 'Parcels.FeatureServer', 'edits', '--url', url],
    activate: (url) => ['activate', 'Parcels.FeatureServer', 'edits', '--url', url],
  }
}

/** Returns ways to give a key. They include mistakes whose error messages could quote the key. */
function waysIn(folder: Folder): [name: string, args: string[], env: Record<string, string>][] {
  const file = folder.file('key.txt', `${KEY}\n`)
  const padded = folder.file('padded.txt', ` ${KEY}\n`)
  return [
    ['--key', ['--key', KEY], {}],
    ['--key-env', ['--key-env', 'MY_KEY'], { MY_KEY: KEY }],
    ['--key-file', ['--key-file', file], {}],
    ['SIGNATURE_KEY', [], { SIGNATURE_KEY: KEY }],
    ['white space around it', ['--key', ` ${KEY}`], {}],
    ['white space in the file', ['--key-file', padded], {}],
    ['the key in place of a variable', ['--key-env', KEY], {}],
    ['the key in place of its file', ['--key-file', KEY], {}],
    ['a misspelt option', [`--kye=${KEY}`], {}],
    ['an option and the key in one word', [`--key${KEY}`], {}],
    ['a short option', [`-k${KEY}`], {}],
    ['two kinds of options', ['--key', KEY, '--key-env', 'MY_KEY'], { MY_KEY: KEY }],
  ]
}

/** Tests every command with each selected way to give a key. Appends the arguments in `more`. */
export function describeCommands(
  more: readonly string[],
  isSelected: (command: string, way: string) => boolean = () => true,
): void {
  const target = useTarget()
  const folder = createFolder()
  const ways = waysIn(folder)
  describe.concurrent.each(Object.entries(commandsIn(folder)))(
    ['geohook %s', ...more].join(' '),
    (command, args) => {
      it.each(ways.filter(([way]) => isSelected(command, way)))(
        'never shows the key: %s',
        async (_, given, env) => {
          const { stdout, stderr } = await geohook([...args(target.url), ...given, ...more], { env })
          expect(stdout + stderr).not.toBe('')
          expect(stdout + stderr).not.toContain(KEY)
        },
      )
    },
  )
}
