import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, withListener } from '../../helpers/cli.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'

const folder = createFolder()
const body = payloadOf('FeaturesCreated')
const NOTE = /has a header secret\. Organization webhooks send their key in it as plain text and do not sign/

/** A key with a character that takes two bytes in UTF-8. */
const WIDE = 'Flurst\u00fcck-2026'

describe.concurrent('a request with a key in the `secret` header', () => {
  it.each([
    ['the key of the receiver', KEY],
    ['another key', 'someone-elses-key'],
  ])('is saved without the key, and explained with a note: %s', async (name, secret) => {
    const captures = join(folder.path, name.replaceAll(' ', '-'))
    await withListener(['--key', KEY, '--save', captures], async (url, { printed }) => {
      await send(url, { headers: { 'content-type': 'application/json', SECRET: secret }, body })
      const [, note = ''] = await printed(/^( +note: .*)$/m)
      expect(note).toMatch(NOTE)
      const [, file = ''] = await printed(/saved: (\S+)/)
      const json = readFileSync(file, 'utf8')
      expect(JSON.parse(json).headers).toContainEqual(['SECRET', '***'])
      expect(json).not.toContain(`"${secret}"`)
      const explained = await geohook(['explain', file, '--key', KEY])
      expect(explained).toMatchObject({ code: 1, stdout: expect.stringMatching(/^ {2}note {6}.*\n$/m) })
      expect(explained.stdout).toMatch(NOTE)
      const { diagnoses } = JSON.parse((await geohook(['explain', file, '--key', KEY, '--json'])).stdout)
      expect(diagnoses[0]).toMatchObject({
        cause: 'signature_header_missing',
        note: expect.stringMatching(NOTE),
      })
    })
  })

  it('is explained without a note if it is signed', async () => {
    const file = folder.file('body.json', body)
    const header = ['--header', 'secret: x', '--header', 'x-service: 00']
    const { stdout } = await geohook(['explain', '--body', file, ...header, '--key', KEY])
    expect(stdout).not.toMatch(NOTE)
  })
})

it('geohook listen --save redacts its keys in every header, and keeps the other values', async () => {
  const captures = join(folder.path, 'any')
  await withListener(['--key', 'newer', '--key', WIDE, '--save', captures], async (url, { printed }) => {
    const wire = Buffer.from(WIDE).toString('latin1')
    const headers = { 'x-api-key': [wire, WIDE], 'x-other': 'newest', 'x-newer': ['newer', 'a'] }
    // The body is a Buffer, so that Node writes the headers as Latin-1, one byte per character. With a string body, it
    // would write them as UTF-8, like the body.
    await send(url, { headers, body: Buffer.from(body) })
    const [, file = ''] = await printed(/saved: (\S+)/)
    const saved = JSON.parse(readFileSync(file, 'utf8')).headers as string[][]
    expect(saved.filter(([name]) => name?.startsWith('x-'))).toEqual([
      ['x-api-key', '***'],
      ['x-api-key', '***'],
      ['x-other', 'newest'],
      ['x-***', '***'],
      ['x-***', 'a'],
    ])
  })
})

it('geohook listen reports and answers an accepted delivery with a `secret` header like any other', async () => {
  await withListener(['--key', KEY, '--answer', '503'], async (url, { printed }) => {
    const headers = { 'content-type': 'application/json', 'x-service': signatureOf(body), secret: 'x' }
    expect((await send(url, { headers, body })).status).toBe(503)
    await printed(/verified +503 +FeaturesCreated/)
  })
})
