import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, withListener } from '../../helpers/cli.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { raw, send } from '../../helpers/http.ts'

const folder = createFolder()
const env = { SIGNATURE_KEY: KEY }
const body = payloadOf('FeaturesCreated', 'FeaturesUpdated')
const signed = { 'content-type': 'application/json', 'x-service': signatureOf(body) }

describe.concurrent('geohook listen --save', () => {
  it('saves the exact request without the key, in a file that only its owner can read', async () => {
    const captures = join(folder.path, 'captures')
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    await withListener(
      ['--save', captures],
      async (url, { printed }) => {
        await send(`${url}a?b=c`, { headers: { ...signed, 'X-Twice': ['1', '2'] }, body })
        await printed(/saved: .*-0001-verified\.json/)
        await send(url, { headers: { 'x-service': 'bad' }, body: bytes })
        await printed(/saved: .*-0002-signature_malformed\.json/)
      },
      { env },
    )
    const names = readdirSync(captures).sort()
    expect(names).toEqual([
      expect.stringMatching(/-0001-verified/),
      expect.stringMatching(/-0002-signature_malformed/),
    ])
    const [first, second] = names.map((name) => readFileSync(join(captures, name), 'utf8'))
    expect(JSON.parse(first ?? '')).toEqual({
      geohook: 'capture',
      version: 1,
      receivedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      method: 'POST',
      url: '/a?b=c',
      headers: expect.arrayContaining([
        ['content-type', 'application/json'],
        ['X-Twice', '1'],
        ['X-Twice', '2'],
      ]),
      body: Buffer.from(body).toString('base64'),
      outcome: { status: 200 },
    })
    expect(JSON.parse(second ?? '')).toMatchObject({
      body: Buffer.from(bytes).toString('base64'),
      outcome: { status: 401, code: 'signature_malformed' },
    })
    expect(first).not.toContain(KEY)
    expect(statSync(join(captures, names[0] ?? '')).mode & 0o777).toBe(0o600)
  })

  it('keeps receiving when a capture cannot be saved', async () => {
    const captures = join(folder.path, 'removed')
    const { code, listener } = await withListener(
      ['--save', captures],
      async (url, { printed }) => {
        rmSync(captures, { recursive: true })
        expect((await send(url, { headers: signed, body })).status).toBe(200)
        await printed(/verified/)
      },
      { env },
    )
    expect(code).toBe(0)
    expect(listener.stderr).toMatch(/^error: cannot save a capture in .*: ENOENT\n$/)
  })

  it('saves a capture that can be read again for every request method', async () => {
    const captures = join(folder.path, 'methods')
    await withListener(
      ['--save', captures, '--unsigned', 'accept'],
      async (url, { printed }) => {
        const { host } = new URL(url)
        await raw(
          url,
          `M-SEARCH / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        )
        await printed(/method_not_allowed[\s\S]*saved/)
        await send(url, { headers: { 'content-type': 'application/json' }, body })
        await printed(/unsigned[\s\S]*saved/)
      },
      { env },
    )
    const names = readdirSync(captures).sort()
    expect(names.map((name) => name.replace(/^.*-\d{4}-/, ''))).toEqual([
      'method_not_allowed.json',
      'unsigned.json',
    ])
    expect((await geohook(['explain', captures], { env })).stderr).toBe('')
  })
})
