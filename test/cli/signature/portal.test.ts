import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, withListener } from '../../helpers/cli.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'

const folder = createFolder()
const BODY = payloadOf('add')
const JSON_TYPE = { 'content-type': 'application/json' }

describe.concurrent('--profile portal', () => {
  it('verify compares the header secret with the keys, and says that the body is not signed', async () => {
    const file = folder.file('body.json', BODY)
    const verify = (...args: string[]) =>
      geohook(['verify', file, '--profile', 'portal', '--key', 'key-of-today', '--key', KEY, ...args])
    const right = await verify('--header', `Secret: ${KEY}`)
    expect(right).toMatchObject({ code: 0, stdout: 'the key matches with key 1, 0 being the newest\n' })
    expect(right.stderr).toContain('The body was not checked')
    const wrong = await verify('--header', 'secret: other', '--json')
    expect([wrong.code, JSON.parse(wrong.stdout)]).toEqual([1, { ok: false, code: 'signature_mismatch' }])
    const missing = await verify('--header', `x-service: ${signatureOf(BODY)}`, '--json')
    expect(JSON.parse(missing.stdout)).toEqual({ ok: false, code: 'signature_missing' })
    for (const args of [
      ['--signature', 'x'],
      [],
      ['--header', 'secret: x', '--encoding', 'hex'],
      ['--signature-header', 'x-mine'],
    ])
      expect((await verify(...args)).code).toBe(2)
  })

  it('listen accepts the key in the header secret, explains refusals, and saves no key', async () => {
    const captures = join(folder.path, 'captures')
    const args = ['--profile', 'portal', '--key', KEY, '--save', captures]
    await withListener(args, async (url, { printed }) => {
      expect((await send(url, { headers: { ...JSON_TYPE, secret: KEY }, body: BODY })).status).toBe(200)
      await printed(/verified +200 +add/)
      const [, first = ''] = await printed(/saved: (\S+)/)
      const headers = { ...JSON_TYPE, 'x-esriHook-Signature': signatureOf(BODY) }
      expect((await send(url, { headers, body: BODY })).status).toBe(401)
      await printed(/sender_signs: .*Fix: .*'arcgis'/)
      expect(
        (await send(url, { headers: { ...JSON_TYPE, secret: KEY.toUpperCase() }, body: BODY })).status,
      ).toBe(401)
      await printed(/key_case: /)
      const json = readFileSync(first, 'utf8')
      expect([json.includes('"***"'), json.includes(KEY)]).toEqual([true, false])
      const { stdout, code } = await geohook(['explain', first, '--profile', 'portal', '--key', KEY])
      expect([code, stdout]).toEqual([0, expect.stringMatching(/cause +ok\n.*redacted/)])
    })
  })

  it.each([
    ['--encoding', 'hex'],
    ['--signature-header', 'x-mine'],
  ])('contradicts %s %s', async (...args) => {
    for (const command of [
      ['listen', '--port', '0'],
      ['explain', '--body', folder.file('a.json', '{}')],
    ])
      expect(await geohook([...command, '--profile', 'portal', '--key', KEY, ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`${args[0]} contradicts --profile portal`),
      })
  })
})
