import { createHmac } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook } from '../../helpers/cli.ts'

const KEY = 'Parcels2026Kataster'
const BINARY = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const hmac = (body: string | Uint8Array, encoding: 'hex' | 'base64' = 'hex', key = KEY): string =>
  createHmac('sha256', key).update(body).digest(encoding)

const folder = createFolder()
const body = folder.file('body.bin', BINARY)
const empty = folder.file('empty', '')
mkdirSync(join(folder.path, 'folder'))

describe.concurrent('geohook sign', () => {
  it('signs the exact bytes of a file, standard input and an empty file', async () => {
    const env = { SIGNATURE_KEY: KEY }
    expect(await geohook(['sign', body], { env })).toEqual({
      code: 0,
      stdout: `${hmac(BINARY)}\n`,
      stderr: '',
    })
    expect((await geohook(['sign', '-'], { env, stdin: BINARY })).stdout).toBe(`${hmac(BINARY)}\n`)
    expect((await geohook(['sign', empty], { env })).stdout).toBe(`${hmac('')}\n`)
  })

  it('applies --encoding, --prefix and --json', async () => {
    const args = ['sign', body, '--key', KEY, '--encoding', 'base64', '--prefix', 'sha256=']
    expect((await geohook(args)).stdout).toBe(`sha256=${hmac(BINARY, 'base64')}\n`)
    expect(JSON.parse((await geohook([...args, '--json'])).stdout)).toEqual({
      signature: `sha256=${hmac(BINARY, 'base64')}`,
    })
  })

  it('reads the key from an option, a file and a variable', async () => {
    const expected = { code: 0, stdout: `${hmac(BINARY)}\n`, stderr: '' }
    const file = folder.file('key.txt', `${KEY}\r\n`)
    expect(await geohook(['sign', body, '--key', KEY])).toEqual(expected)
    expect(await geohook(['sign', body, '--key-file', file])).toEqual(expected)
    // The option overrides the variable `SIGNATURE_KEY`.
    const env = { OTHER: KEY, SIGNATURE_KEY: 'another' }
    expect(await geohook(['sign', body, '--key-env', 'OTHER'], { env })).toEqual(expected)
  })

  it.each([
    ['no key', [body], {}, 'the signature key is missing'],
    ['a variable that is not set', [body, '--key-env', 'NOT_SET'], {}, 'is not set'],
    ['the name of an inherited member', [body, '--key-env', 'constructor'], {}, 'is not set'],
    [
      'an empty variable',
      [body],
      { SIGNATURE_KEY: '' },
      'the key in the environment variable SIGNATURE_KEY is empty',
    ],
    [
      'a key file of zero bytes',
      [body, '--key-file', folder.file('zeros', '\0'.repeat(32))],
      {},
      'all zero bytes',
    ],
    ['a key with a line end', [body], { SIGNATURE_KEY: `${KEY}\n` }, 'has white space around it'],
    [
      'a key file with two line ends',
      [body, '--key-file', folder.file('two', `${KEY}\n\n`)],
      {},
      'white space',
    ],
    [
      'a key file with a byte order mark',
      [body, '--key-file', folder.file('bom', `\ufeff${KEY}`)],
      {},
      'white space',
    ],
    ['a key file of random bytes', [body, '--key-file', folder.file('bytes', BINARY)], {}, 'not UTF-8 text'],
    [
      'a missing key file',
      [body, '--key-file', 'nowhere.txt'],
      {},
      'cannot read the file of --key-file: no such file',
    ],
    ['two kinds of keys', [body, '--key', KEY, '--key-env', 'A'], {}, 'cannot be mixed'],
    ['two keys', [body, '--key', KEY, '--key', 'B'], {}, 'only one key'],
    ['a missing body file', ['nowhere.json', '--key', KEY], {}, 'cannot read nowhere.json: no such file'],
    ['a folder', [join(folder.path, 'folder'), '--key', KEY], {}, 'it is a folder'],
    ['a path below a file', [join(body, 'x'), '--key', KEY], {}, 'a part of its path is a file'],
    ['an endless file', ['/dev/zero', '--key', KEY], {}, 'larger than 64 MiB'],
    [
      'an unknown encoding',
      [body, '--key', KEY, '--encoding', 'rot13'],
      {},
      '--encoding <name>: Allowed choices',
    ],
    ['an unknown option', [body, '--kee', KEY], {}, 'unknown option --kee\nDid you mean --key?'],
    ['no argument', ['--key', KEY], {}, "missing required argument 'file'"],
    ['too many arguments', [body, body, '--key', KEY], {}, 'too many arguments'],
  ])('refuses %s with exit code 2', async (_, args, env, message) => {
    const { code, stdout, stderr } = await geohook(['sign', ...args], { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^error: .+\n(.+\n)?$/)
    expect(stderr).not.toContain(KEY)
    expect(stderr).not.toMatch(/\bat .*:\d+/)
  })
})

it.each([
  ['sign', ['sign', body]],
  ['verify', ['verify', body, '--signature', '0'.repeat(64)]],
  ['explain', ['explain', body]],
  ['listen', ['listen', '--port', '0']],
  ['send', ['send', '--to', 'http://127.0.0.1:9']],
  ['create', ['create', 'Parcels.FeatureServer', '--name', 'n', '--hook-url', 'http://127.0.0.1:9']],
])('geohook %s refuses a key file with JSON', async (_, args) => {
  for (const text of [`{"keys":[{"id":"a","key":"${KEY}"}]}`, ` \n["${KEY}"]`, `\ufeff{"${KEY}"`]) {
    const { code, stdout, stderr } = await geohook([...args, '--key-file', '-'], { stdin: text })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(
      /^error: the file of --key-file contains JSON, not a key\n.* Keyrings are for receivers/,
    )
    expect(stderr).not.toContain(KEY)
  }
})

it('geohook sign refuses to read standard input twice', async () => {
  const { code, stderr } = await geohook(['sign', '-', '--key-file', '-'], { stdin: KEY })
  expect(code).toBe(2)
  expect(stderr).toContain('standard input can be read only once')
})

describe.concurrent('geohook verify', () => {
  const verify = (...args: string[]) => geohook(['verify', body, ...args])

  it('accepts a valid signature from --signature or --header, in hex or base64', async () => {
    for (const given of [
      ['--signature', hmac(BINARY)],
      ['--signature', `sha256=${hmac(BINARY, 'base64')}`, '--encoding', 'base64'],
      ['--header', 'content-type: text/plain', '--header', `X-Service:${hmac(BINARY)}`],
      ['--header', `x-mine: ${hmac(BINARY)}`, '--signature-header', 'X-Mine'],
    ]) {
      expect(await verify('--key', KEY, ...given)).toEqual({ code: 0, stdout: 'verified\n', stderr: '' })
    }
  })

  it('prints which of several keys matches', async () => {
    const ring = ['--key', 'newer', '--key', KEY, '--signature', hmac(BINARY)]
    expect((await verify(...ring)).stdout).toBe('verified with key 1, 0 being the newest\n')
    expect(JSON.parse((await verify(...ring, '--json')).stdout)).toEqual({ ok: true, keyIndex: 1 })
  })

  it.each([
    ['signature_mismatch', ['--signature', hmac('other')]],
    ['signature_malformed', ['--signature', 'none']],
    ['signature_malformed', ['--signature', hmac(BINARY), '--encoding', 'base64']],
    ['signature_malformed', ['--header', `x-service: ${hmac(BINARY)}`, '--header', 'X-Service: x']],
    ['signature_missing', ['--signature', '']],
    ['signature_missing', ['--header', 'content-type: text/plain']],
  ])('prints %s and exits with 1', async (reason, given) => {
    const { code, stdout, stderr } = await verify('--key', KEY, ...given)
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${reason}\n` })
    expect(stderr).toContain('geohook explain')
    const json = await verify('--key', KEY, ...given, '--json')
    expect(json).toMatchObject({ code: 1, stderr: '' })
    expect(JSON.parse(json.stdout)).toEqual({ ok: false, code: reason })
  })

  it.each([
    ['no signature', []],
    ['--signature and --header', ['--signature', 'a', '--header', 'x-service: a']],
    ['an invalid header', ['--header', 'x-service']],
    ['a header of two lines', ['--header', 'x-service: a\r\nb: c']],
  ])('refuses %s with exit code 2', async (_, given) => {
    expect(await verify('--key', KEY, ...given)).toMatchObject({ code: 2, stdout: '' })
  })
})
