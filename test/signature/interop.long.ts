import { execFileSync, spawnSync } from 'node:child_process'
import { sign as octokitSign, verify as octokitVerify } from '@octokit/webhooks-methods'
import { sign, verify } from 'geohook'
import { describe, expect, it } from 'vitest'

const signatureKey = 'k3y-with-\u00fcmlaut'
const bodies = [
  '{"events":[{"eventType":"FeaturesCreated","when":1730385704000}]}',
  'payload=%7B%7D&a=b',
  '\u{1f30d}\r\n',
  ' ',
]

/**
 * Returns true if a program is installed. Always true with `CI=true`, so that its tests fail instead of being
 * skipped.
 */
const isInstalled = (command: string): boolean =>
  process.env.CI === 'true' || spawnSync(command, ['--version']).error === undefined

const run = (command: string, args: string[], input: string): string =>
  execFileSync(command, args, { input, encoding: 'utf8' }).trim()

describe('@octokit/webhooks-methods', () => {
  it('accepts our signatures, and we accept theirs', async () => {
    for (const body of bodies) {
      expect(
        await octokitVerify(signatureKey, body, await sign({ body, signatureKey, prefix: 'sha256=' })),
      ).toBe(true)
      const theirs = await octokitSign(signatureKey, body)
      expect(await verify({ body, signature: theirs, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
    }
  })
})

describe.skipIf(!isInstalled('openssl'))('openssl', () => {
  const hexKey = Buffer.from(signatureKey).toString('hex')
  const openssl = (body: string, ...args: string[]): string =>
    run('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${hexKey}`, ...args], body)

  it('agrees with sign and verify in hex', async () => {
    for (const body of bodies) {
      const theirs = openssl(body, '-r').split(' ')[0] as string
      expect(await sign({ body, signatureKey })).toBe(theirs)
      expect(await verify({ body, signature: theirs, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
    }
  })

  it('agrees with sign and verify in base64', async () => {
    for (const body of bodies) {
      const binary = execFileSync(
        'openssl',
        ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${hexKey}`, '-binary'],
        { input: body },
      )
      const theirs = execFileSync('openssl', ['base64', '-A'], { input: binary, encoding: 'utf8' })
      expect(await sign({ body, signatureKey, encoding: 'base64' })).toBe(theirs)
      expect(await verify({ body, signature: theirs, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
    }
  })
})

describe.skipIf(!isInstalled('python3'))("Python's hmac", () => {
  const SIGN =
    'import hmac,sys,base64;d=hmac.new(sys.argv[1].encode(),sys.stdin.buffer.read(),"sha256").digest();' +
    'print(d.hex(),base64.b64encode(d).decode())'
  const COMPARE =
    'import hmac,sys;d=hmac.new(sys.argv[1].encode(),sys.stdin.buffer.read(),"sha256").hexdigest();' +
    'print(hmac.compare_digest(d,sys.argv[2]))'

  it('accepts our signatures, and we accept theirs, in both encodings', async () => {
    for (const body of bodies) {
      const [hex = '', base64 = ''] = run('python3', ['-X', 'utf8', '-c', SIGN, signatureKey], body).split(
        ' ',
      )
      for (const signature of [hex, base64]) {
        expect(await verify({ body, signature, signatureKey })).toEqual({ ok: true, keyIndex: 0 })
      }
      const ours = await sign({ body, signatureKey })
      expect(run('python3', ['-X', 'utf8', '-c', COMPARE, signatureKey, ours], body)).toBe('True')
      expect(await sign({ body, signatureKey, encoding: 'base64' })).toBe(base64)
    }
  })
})
