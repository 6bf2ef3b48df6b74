import { describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'

/** A key that occurs in no other text, so that tests can search outputs for it. */
const KEY = 'Geheimnis0123456789Kataster'
const folder = createFolder()
const body = folder.file('body.json', '{}')

/** Matches input that no output may quote. */
const WORDS = new RegExp(`${KEY}|keyparcels|${folder.path}`)

/** Misplaced keys: where the key is, the arguments, and the expected error message. */
const MISPLACED: [string, string[], string][] = [
  ['the command', [KEY], 'unknown command\n'],
  ['a service', ['trigger', KEY, 'FeaturesCreated'], 'service: must be written like Parcels.FeatureServer'],
  ['the service of a list', ['list', KEY], 'service: must be written like Parcels.FeatureServer'],
  [
    'the service of a create',
    ['create', KEY, '--name', 'n', '--hook-url', 'http://127.0.0.1:9'],
    'service: must be written like Parcels.FeatureServer',
  ],
  ['the service of an edit', ['edit', KEY, 'x'], 'service: must be written like Parcels.FeatureServer'],
  ['the service of a plan', ['plan', body, KEY], 'services: must be written like Parcels.FeatureServer'],
  ['the service of a delete', ['delete', KEY, 'x'], 'service: must be written like Parcels.FeatureServer'],
  ['a surplus argument', ['sign', body, KEY], 'too many arguments'],
  ['an argument of a command without arguments', ['demo', KEY], 'too many arguments'],
  ['a choice', ['sign', body, '--encoding', KEY], '--encoding <name>: Allowed choices are hex'],
  ['a choice, with a quote', ['sign', body, '--encoding', `x' is invalid. ${KEY}`], '--encoding <name>: Al'],
  ['a number', ['key', '--bytes', KEY], '--bytes <n>: must be a whole number'],
  ['a port', ['listen', '--port', KEY], '--port <n>: must be a whole number'],
  ['a size', ['listen', '--limit', KEY], '--limit <size>: must be a number of bytes'],
  ['a path', ['listen', '--path', KEY, '--key', KEY], '--path must begin with /'],
  ['a URL', ['send', '--to', KEY], '--to <url>: must be a URL'],
  [
    'a header',
    ['verify', body, '--header', KEY],
    "--header <line>: must be a header line like 'name: value'",
  ],
  [
    'a name',
    ['verify', body, '--signature-header', `${KEY} `],
    '--signature-header <name>: must be a header name',
  ],
  ['a schedule', ['edit', 'P.GPServer', 'x', '--schedule', KEY], '--schedule must be a JSON object'],
  [
    'the file of a token',
    ['list', '--token-file', KEY],
    'cannot read the file of --token-file: no such file',
  ],
  [
    'the file of a key',
    ['sign', body, '--key-file', KEY],
    'cannot read the file of --key-file: no such file',
  ],
  ['a folder of keys', ['sign', body, '--key-file', folder.path], 'the file of --key-file: it is a folder'],
  ['a variable', ['list', '--token-env', KEY], 'the environment variable of --token-env is not set'],
  ['an option', ['sign', body, `--${KEY}`], 'unknown option\n'],
  ['the value of an unknown option', ['sign', body, `--kye=${KEY}`], 'unknown option --kye\n'],
  ['the end of an option', ['sign', body, `--key${KEY}`], 'unknown option\n'],
  ['the end of an option, in lower case', ['sign', body, '--keyparcels'], 'unknown option\n'],
  ['the end of the option of a password', ['list', '--passwordparcels'], 'unknown option\n'],
  ['the end of a short option', ['sign', body, `-k${KEY}`], 'unknown option -k\n'],
]

describe.concurrent('a key in place of', () => {
  it.each(MISPLACED)('%s is not quoted', async (_, args, message) => {
    const { code, stdout, stderr } = await geohook(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    const asJson = await geohook([...args, '--json'])
    for (const output of [stderr, asJson.stdout, asJson.stderr]) expect(output).not.toMatch(WORDS)
  })

  it('the argument of help, or the URL in the environment, is not quoted', async () => {
    for (const result of [
      await geohook(['help', KEY]),
      await geohook(['list'], { env: { GEOHOOK_URL: KEY } }),
    ])
      expect(result.stdout + result.stderr).not.toContain(KEY)
  })
})
