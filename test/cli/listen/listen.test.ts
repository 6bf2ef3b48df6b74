import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, parseEvents, withListener } from '../../helpers/cli.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { base64Of, KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'
import { warningsOf } from '../../helpers/warnings.ts'

const folder = createFolder()
const env = { SIGNATURE_KEY: KEY }
const body = payloadOf('FeaturesCreated', 'FeaturesUpdated')
const JSON_TYPE = { 'content-type': 'application/json' }
const signed = (bytes: string | Uint8Array): Record<string, string> => ({
  ...JSON_TYPE,
  'x-service': signatureOf(bytes),
})

describe.concurrent('geohook listen', () => {
  it('prints whether each request was verified or refused, and why, and shuts down gracefully', async () => {
    const { code, listener } = await withListener(
      [],
      async (url, { printed }) => {
        expect((await send(url, { headers: signed(body), body })).status).toBe(200)
        await printed(/verified +200 {2}FeaturesCreated, FeaturesUpdated {2}Parcels {2}\d+ bytes\n/)
        expect((await send(url, { headers: signed(body), body: `${body}\n` })).status).toBe(401)
        await printed(/refused +401 {2}signature_mismatch .*\n +body_trailing_newline: .*Fix: Keep the end/)
        expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(401)
        await printed(
          /refused +401 {2}signature_missing .*\n +signature_header_missing: .*Fix: Set a signatureKey/,
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

  it('prints events as JSON, and exits with 1 after --count requests if one was refused', async () => {
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
    const [listening, other, verified, refused, ...more] = parseEvents(listener)
    expect(more).toEqual([])
    expect(listening).toEqual({
      event: 'listening',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/hook$/),
    })
    expect(other).toEqual({
      event: 'other_path',
      receivedAt: expect.any(String),
      method: 'POST',
      url: '/other',
      status: 404,
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

  it('exits with 0 after one verified request with --once', async () => {
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

  it('explains the last request of --once, also after saving it', async () => {
    const { code, listener } = await withListener(
      ['--once', '--save', join(folder.path, 'captures-once')],
      async (url, { exited }) => {
        await send(url, { headers: signed(`${body}\n`), body })
        await exited
      },
      { env },
    )
    expect(code).toBe(1)
    expect(listener.stdout).toMatch(/body_trailing_newline: /)
  })

  it('responds to handshakes and verifies the signature header of the arcgis profile', async () => {
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

  it('applies --limit, --signature-header and --encoding', async () => {
    await withListener(
      ['--limit', '1kb', '--signature-header', 'x-mine', '--encoding', 'hex'],
      async (url) => {
        const headers = { ...JSON_TYPE, 'x-mine': signatureOf(body) }
        expect((await send(url, { headers, body })).status).toBe(200)
        const base64 = { ...headers, 'x-mine': base64Of(body) }
        expect((await send(url, { headers: base64, body })).status).toBe(401)
        const chunks = [Buffer.alloc(600), Buffer.alloc(600)]
        expect((await send(url, { headers, chunks })).status).toBe(413)
      },
      { env },
    )
  })

  it('with --events, reports and counts only deliveries with these change types, and refused requests', async () => {
    const post = (url: string, ...changeTypes: string[]) => {
      const payload = payloadOf(...changeTypes)
      return send(url, { headers: signed(payload), body: payload })
    }
    const { code, listener } = await withListener(
      ['--events', 'FeaturesEdited,jobDone', '--events', 'FeaturCreated', '--count', '2'],
      async (url, { exited, printed }) => {
        expect((await post(url, 'AttachmentsCreated')).status).toBe(200)
        expect((await post(url, 'FeaturesUpdated', 'AttachmentsCreated')).status).toBe(200)
        await printed(/verified +200 {2}FeaturesUpdated, AttachmentsCreated/)
        await send(url, { headers: JSON_TYPE, body })
        await exited
      },
      { env },
    )
    expect(code).toBe(1)
    expect(listener.stdout.match(/(verified|refused) +\d+/g)).toEqual(['verified   200', 'refused    401'])
    expect(listener.stderr).toBe(
      '--events FeaturCreated is not a known change type. Did you mean FeaturesCreated?\n',
    )
  })

  it('with --answer, sends this status for verified deliveries only', async () => {
    await withListener(
      ['--answer', '503', '--json', '--profile', 'arcgis'],
      async (url) => {
        const headers = { ...JSON_TYPE, 'x-esriHook-Signature': signatureOf(body) }
        expect(await send(url, { headers, body })).toMatchObject({ status: 503, text: '' })
        expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(401)
        expect((await send(`${url}?crc_token=abc`, { method: 'GET' })).status).toBe(200)
      },
      { env },
    ).then(({ listener }) => {
      const [, ...requests] = parseEvents(listener)
      expect(requests.map(({ finding, status }) => [finding, status])).toEqual([
        ['verified', 503],
        ['refused', 401],
        ['handshake', 200],
      ])
      for (const request of requests) expect(request).not.toHaveProperty('disconnected')
    })
  })

  it('with --answer and --delay, sends the response after the delay', async () => {
    await withListener(
      ['--answer', '503', '--delay', '50'],
      async (url) => {
        const started = performance.now()
        expect((await send(url, { headers: signed(body), body })).status).toBe(503)
        expect(performance.now() - started).toBeGreaterThan(48)
      },
      { env },
    )
  })

  it('with --answer, reports a sender that does not wait for the delay, and ends the delay when it stops', async () => {
    const request = [
      'POST / HTTP/1.1\r\nhost: a',
      ...Object.entries(signed(body)).map((header) => header.join(': ')),
      `content-length: ${body.length}\r\n\r\n${body}`,
    ].join('\r\n')
    let answer = ''
    const { code } = await withListener(
      ['--answer', '204', '--delay', '86400000'],
      async (url, { printed, stop }) => {
        const post = async (): Promise<Socket> => {
          const socket = connect(Number(new URL(url).port), '127.0.0.1')
          await new Promise<void>((resolve) => socket.write(request, () => resolve()))
          // When the listener has answered a later request, it has read this one.
          expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(401)
          return socket
        }
        const impatient = await post()
        impatient.destroy()
        await printed(/verified +204 .*\n.*note: The sender closed the connection before this response\./)
        const patient = await post()
        patient.on('data', (chunk) => {
          answer += chunk
        })
        await Promise.all([stop(), once(patient, 'close')])
      },
      { env },
    )
    expect(code).toBe(0)
    expect(answer).toMatch(/^HTTP\/1\.1 204 /)
  })

  it('explains that a signature is valid but not in the encoding given with --encoding', async () => {
    const { listener } = await withListener(
      ['--encoding', 'hex'],
      async (url, { printed }) => {
        const signature = Buffer.from(signatureOf(body), 'hex').toString('base64')
        await send(url, { headers: { ...signed(body), 'x-service': signature }, body })
        await printed(/Fix: /)
      },
      { env },
    )
    expect(listener.stdout).toMatch(
      /signature_encoding: The signature is not in hex, the only encoding that the receiver accepts\./,
    )
  })

  it('accepts unsigned requests with --unsigned accept, and warns about it', async () => {
    const warnings = await warningsOf(() =>
      withListener(['--unsigned', 'accept'], async (url, { printed }) => {
        expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(200)
        await printed(/unsigned +200/)
      }),
    )
    expect(warnings).toContainEqual(expect.stringContaining("unsigned is 'accept'"))
  })

  it.each([
    ['no key', [], /^error: the signature key is missing\n/],
    [
      'an invalid port',
      ['--key', KEY, '--port', '70000'],
      /--port <n>: must be a whole number from 0 to 65535/,
    ],
    [
      'an address of another machine',
      ['--key', KEY, '--host', '203.0.113.1'],
      /cannot listen on 203\.0\.113\.1/,
    ],
    ['an empty host', ['--key', KEY, '--host', ''], /--host is empty/],
    ['an invalid URL', ['--key', KEY, '--forward-to', 'localhost:80'], /--forward-to <url>: must be a URL/],
    ['--forward-timeout alone', ['--key', KEY, '--forward-timeout', '9'], /requires --forward-to/],
    [
      'a target that never answers',
      ['--key', KEY, '--forward-to', 'http://a/', '--forward-timeout', '0'],
      /--forward-timeout <ms>: must be a whole number from 1 to 600000/,
    ],
    ['an empty change type', ['--key', KEY, '--events', 'a,,b'], /--events <names>: must be change types/],
    ['an informational status', ['--key', KEY, '--answer', '100'], /--answer <status>: .* from 200 to 599/],
    ['--delay alone', ['--key', KEY, '--delay', '5'], /--delay requires --answer/],
    [
      '--answer with --forward-to',
      ['--key', KEY, '--answer', '500', '--forward-to', 'http://a/'],
      /give either --answer or --forward-to/,
    ],
    ['--forward-refused alone', ['--key', KEY, '--forward-refused'], /requires --forward-to/],
    ['a relative path', ['--key', KEY, '--path', 'hook'], /--path must begin with \//],
    ['a path with a query', ['--key', KEY, '--path', '/a?b'], /--path must begin with \//],
    [
      'a file as the folder for captures',
      ['--key', KEY, '--save', folder.file('file', '')],
      /cannot save in .*: it is a file/,
    ],
    [
      'a folder whose parent is missing',
      ['--key', KEY, '--save', '/proc/none/x'],
      /cannot save in .*: its parent folder does not exist/,
    ],
    ['an invalid limit', ['--key', KEY, '--limit', '1tb'], /--limit <size>: must be a number of bytes/],
  ])('refuses %s with exit code 2', async (_, args, message) => {
    const { code, stdout, stderr } = await geohook(['listen', '--port', '0', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain(KEY)
  })

  it('reports a port in use', () =>
    withTarget(async ({ url }) => {
      const { code, stderr } = await geohook(['listen', '--port', new URL(url).port], { env })
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: port \d+ of 127\.0\.0\.1 is in use\nGive another --port/)
    }))
})
