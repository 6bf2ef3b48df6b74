import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, startGeohook, withListener } from '../../helpers/cli.ts'
import { base64Of, KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'
import { startTarget, unusedUrl } from '../../helpers/target.ts'

const folder = createFolder()
const env = { SIGNATURE_KEY: KEY }
const body = payloadOf('FeaturesCreated', 'FeaturesUpdated')
const JSON_TYPE = { 'content-type': 'application/json' }
const signed = (bytes: string | Uint8Array): Record<string, string> => ({
  ...JSON_TYPE,
  'x-service': signatureOf(bytes),
})

/** The lines of `--json`, parsed. */
const lines = (stdout: string): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe.concurrent('geohook listen', () => {
  it('tells of each delivery, verified or refused and why, and ends gracefully', async () => {
    const { code, listener } = await withListener(
      [],
      async (url, { printed }) => {
        expect((await send(url, { headers: signed(body), body })).status).toBe(200)
        await printed(/verified +200 {2}FeaturesCreated, FeaturesUpdated {2}Parcels {2}\d+ bytes\n/)
        expect((await send(url, { headers: signed(body), body: `${body}\n` })).status).toBe(401)
        await printed(
          /refused +401 {2}signature_mismatch .*\n +body_trailing_newline: .*\n +fix: Keep the end/,
        )
        expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(401)
        await printed(
          /refused +401 {2}signature_missing .*\n +signature_header_missing: .*\n +fix: Set a signatureKey/,
        )
        expect((await send(url, { headers: signed('{'), body: '{' })).status).toBe(400)
        await printed(/refused +400 {2}payload_malformed/)
        expect((await send(url, { method: 'GET' })).status).toBe(405)
        await printed(/refused +405 {2}method_not_allowed/)
      },
      { env },
    )
    expect(code).toBe(0)
    expect(listener.stderr).toBe('')
    expect(listener.stdout).not.toContain('\u001b')
  })

  it('prints a line of JSON for each, and ends after a count with 1 if one was refused', async () => {
    const { code, listener } = await withListener(
      ['--key', 'newer', '--key', KEY, '--json', '--count', '2', '--path', '/hook'],
      async (url, { exited }) => {
        expect((await send(new URL('/other', url).href, { headers: signed(body), body })).status).toBe(404)
        expect((await send(`${url}?a=1`, { headers: signed(body), body })).status).toBe(200)
        expect((await send(url, { headers: signed('x'), body })).status).toBe(401)
        await exited
      },
    )
    expect(code).toBe(1)
    const [listening, verified, refused, ...more] = lines(listener.stdout)
    expect(more).toEqual([])
    expect(listening).toEqual({
      event: 'listening',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/hook$/),
    })
    expect(verified).toMatchObject({
      event: 'request',
      finding: 'verified',
      status: 200,
      method: 'POST',
      url: '/hook?a=1',
      bytes: body.length,
      keyIndex: 1,
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      changeTypes: ['FeaturesCreated', 'FeaturesUpdated'],
      service: { serviceName: 'Parcels' },
    })
    expect(refused).toMatchObject({
      finding: 'refused',
      status: 401,
      code: 'signature_mismatch',
      diagnosis: { ok: false, cause: 'unexplained' },
    })
  })

  it('ends after one with --once, with 0 for a verified one', async () => {
    const { code } = await withListener(
      ['--once'],
      async (url, { exited }) => {
        await send(url, { headers: signed(body), body })
        await exited
      },
      { env },
    )
    expect(code).toBe(0)
  })

  it('saves what it gets for replay and explain, for its owner only and without the key', async () => {
    const captures = join(folder.path, 'captures')
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    await withListener(
      ['--save', captures],
      async (url, { printed }) => {
        await send(`${url}a?b=c`, { headers: { ...signed(body), 'X-Twice': ['1', '2'] }, body })
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

  it('receives on when it cannot save any more', async () => {
    const captures = join(folder.path, 'removed')
    const { code, listener } = await withListener(
      ['--save', captures],
      async (url, { printed }) => {
        rmSync(captures, { recursive: true })
        expect((await send(url, { headers: signed(body), body })).status).toBe(200)
        await printed(/verified/)
      },
      { env },
    )
    expect(code).toBe(0)
    expect(listener.stderr).toMatch(/^cannot save a capture in .*: ENOENT\n$/)
  })

  it('escapes what a sender could draw on the terminal, also in JSON', async () => {
    const evil = '\u001b[2J\u009b31m\u202eevil\r\n.'
    const payload = JSON.stringify({ serviceName: evil, name: evil, events: [{ eventType: evil, when: 1 }] })
    for (const json of [[], ['--json']]) {
      const { listener } = await withListener(
        json,
        async (url, { printed }) => {
          await send(url, { headers: signed(payload), body: payload })
          await printed(/evil.*\n/)
          // Node gives what is no ASCII in a header as Latin-1.
          await send(url, { headers: { 'x-service': '\u009b31m' }, body: '{}' })
          await printed(/refused.*\n/)
        },
        { env },
      )
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
      expect(listener.output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
      if (json.length === 0) expect(listener.stdout).toContain('\\u{1b}[2J\\u{9b}31m\\u{202e}evil')
      else
        expect(lines(listener.stdout)[1]).toMatchObject({
          changeTypes: [evil],
          service: { serviceName: evil },
        })
    }
  })

  it('answers the handshake of arcgis and verifies its header', async () => {
    await withListener(
      ['--profile', 'arcgis'],
      async (url, { printed }) => {
        const handshake = await send(`${url}?crc_token=abc`, { method: 'GET' })
        expect(JSON.parse(handshake.text)).toEqual({ response_token: `sha256=${base64Of('abc')}` })
        await printed(/handshake +200/)
        const headers = { ...JSON_TYPE, 'x-esriHook-Signature': `sha256=${base64Of(body)}` }
        expect((await send(url, { headers, body })).status).toBe(200)
      },
      { env },
    )
  })

  it('bounds the body, and looks for the signature where it is told to', async () => {
    await withListener(
      ['--limit', '1kb', '--signature-header', 'x-mine', '--encoding', 'hex'],
      async (url) => {
        const headers = { ...JSON_TYPE, 'x-mine': signatureOf(body) }
        expect((await send(url, { headers, body })).status).toBe(200)
        expect((await send(url, { headers: { ...headers, 'x-mine': base64Of(body) }, body })).status).toBe(
          401,
        )
        expect((await send(url, { headers, chunks: [Buffer.alloc(600), Buffer.alloc(600)] })).status).toBe(
          413,
        )
      },
      { env },
    )
  })

  it('accepts unsigned requests only when told to, and says so', async () => {
    await withListener(['--unsigned', 'accept'], async (url, { printed }) => {
      await printed(/unsigned is 'accept'/)
      expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(200)
      await printed(/unsigned +200/)
    })
  })

  it.each([
    ['no key', [], /^error: the signature key is missing\n/],
    ['a bad port', ['--key', KEY, '--port', '70000'], /--port <n>: give a whole number from 0 to 65535/],
    [
      'an address of another machine',
      ['--key', KEY, '--host', '203.0.113.1'],
      /cannot listen on 203\.0\.113\.1/,
    ],
    ['a bad URL', ['--key', KEY, '--forward-to', 'localhost:80'], /--forward-to <url>: give a URL/],
    ['--forward-refused alone', ['--key', KEY, '--forward-refused'], /requires --forward-to/],
    ['a bad path', ['--key', KEY, '--path', 'hook'], /--path must begin with/],
    [
      'a file to save in',
      ['--key', KEY, '--save', folder.file('file', '')],
      /cannot save in .*: it is a file/,
    ],
    [
      'a folder in no folder',
      ['--key', KEY, '--save', '/proc/none/x'],
      /cannot save in .*: its parent folder does not exist/,
    ],
    ['a bad limit', ['--key', KEY, '--limit', '1tb'], /--limit <size>: give bytes/],
  ])('refuses %s with the exit code 2', async (_, args, message) => {
    const { code, stdout, stderr } = await geohook(['listen', '--port', '0', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain(KEY)
  })

  it('says when the port is in use', async () => {
    const { url, close } = await startTarget()
    const { code, stderr } = await geohook(['listen', '--port', new URL(url).port], { env })
    await close()
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: port \d+ of 127\.0\.0\.1 is in use\nGive another --port/)
  })

  it('ends at Ctrl-C with 0, also while a sender holds a connection open', async () => {
    const listener = startGeohook(['listen', '--port', '0'], { env })
    const [, url = ''] = await listener.printed(/(http:\S+\/)/)
    const { port } = new URL(url)
    const { connect } = await import('node:net')
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.on('error', () => {})
    expect(await listener.stop('SIGINT')).toBe(0)
    socket.destroy()
  })
})

describe.concurrent('geohook listen --forward-to', () => {
  it('passes on the exact bytes and headers of what is verified, and gives the sender the answer', async () => {
    // A form, so that it may hold all 256 byte values.
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(payloadOf('x')), Buffer.from('"}')])
    const target = await startTarget((res) => {
      res.writeHead(201, { 'content-type': 'application/octet-stream', 'x-answer': ['1', '2'] })
      res.end(Buffer.from([0, 255, 128]))
    })
    try {
      await withListener(
        ['--forward-to', `${target.url}/hook?x=1`],
        async (url, { printed }) => {
          const payload = payloadOf('FeaturesCreated').replace('Parcels', 'Flurst\u00fccke')
          const headers = {
            ...signed(payload),
            'X-Twice': ['a', 'b'],
            // A sender, or a stranger on the way, cannot take the signature off.
            connection: 'keep-alive, x-service, content-type',
          }
          const answer = await fetch(url, {
            method: 'POST',
            headers: { ...signed(payload), 'x-mine': '\u00e9' },
            body: payload,
          })
          expect(answer.status).toBe(201)
          expect(answer.headers.get('x-answer')).toBe('1, 2')
          expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([0, 255, 128])
          await send(url, { headers, body: payload })
          await printed(/forwarded: answered 201/)
          const [first, second] = target.requests
          expect(first).toMatchObject({ method: 'POST', url: '/hook?x=1' })
          expect(first?.body.equals(Buffer.from(payload))).toBe(true)
          expect(first?.headers).toMatchObject({ 'x-service': signatureOf(payload), 'x-mine': '\u00e9' })
          expect(first?.headers.host).toBe(new URL(target.url).host)
          expect(second?.headers['x-twice']).toBe('a, b')
          expect(second?.headers).toMatchObject(signed(payload))
          // What is not verified stays here.
          expect((await send(url, { headers: JSON_TYPE, body: bytes })).status).toBe(401)
          await printed(/refused/)
          expect(target.requests.length).toBe(2)
        },
        { env },
      )
    } finally {
      await target.close()
    }
  })

  it('passes on all 256 byte values, refused or not, when told to', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const target = await startTarget((res) => res.writeHead(204).end())
    try {
      await withListener(
        ['--forward-to', target.url, '--forward-refused'],
        async (url) => {
          const headers = { 'content-type': 'application/json', 'x-service': signatureOf(bytes) }
          expect((await send(url, { headers, body: bytes })).status).toBe(204)
          expect(target.requests[0]?.body.equals(bytes)).toBe(true)
        },
        { env },
      )
    } finally {
      await target.close()
    }
  })

  it('answers 502 when the target is not there, so that the sender tries again', async () => {
    const to = await unusedUrl()
    await withListener(
      ['--forward-to', to],
      async (url, { printed }) => {
        const answer = await send(url, { headers: signed(body), body })
        expect(answer).toMatchObject({ status: 502, headers: { 'retry-after': '5' } })
        await printed(/verified +502.*\n +forwarded: cannot reach .*: connection refused/)
      },
      { env },
    )
  })
})
