import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { parseEvents, startGeohook, withListener } from '../../helpers/cli.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { raw, send } from '../../helpers/http.ts'

const env = { SIGNATURE_KEY: KEY }
const body = payloadOf('FeaturesCreated')
const signed = { 'content-type': 'application/json', 'x-service': signatureOf(body) }

describe.concurrent('geohook listen with a hostile sender', () => {
  it('escapes control characters from a sender in text and JSON', async () => {
    const hostile = '\u001b[2J\u009b31m\u202eevil\r\n.'
    const payload = JSON.stringify({
      serviceName: hostile,
      name: hostile,
      events: [{ eventType: hostile, when: 1 }],
    })
    for (const json of [[], ['--json']]) {
      const { listener } = await withListener(
        json,
        async (url, { printed }) => {
          await send(url, { headers: { ...signed, 'x-service': signatureOf(payload) }, body: payload })
          await printed(/evil.*\n/)
          // Node decodes header bytes as Latin-1, so this byte becomes a C1 control character.
          await send(url, { headers: { 'x-service': '\u009b31m' }, body: '{}' })
          await printed(/refused.*\n/)
        },
        { env },
      )
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
      expect(listener.output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
      if (json.length === 0) expect(listener.stdout).toContain('\\u{1b}[2J\\u{9b}31m\\u{202e}evil')
      else
        expect(parseEvents(listener)[1]).toMatchObject({
          changeTypes: [hostile],
          service: { serviceName: hostile },
        })
    }
  })

  it('shuts down even if a client does not read its responses', async () => {
    const listener = startGeohook(['listen', '--port', '0'], { env, pace: 0.01 })
    const [, url = ''] = await listener.printed(/(http:\/\/\S+)/)
    const { hostname, port, host } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {}).pause()
    const request = `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 2\r\n\r\n{}`
    socket.write(request.repeat(5000))
    await listener.printed(/refused/)
    expect(await listener.stop()).toBe(0)
    socket.destroy()
  })

  it('does not explain large bodies, so that unauthenticated requests cannot keep it busy', async () => {
    const { listener } = await withListener(
      ['--json', '--limit', '4mb'],
      async (url, { printed }) => {
        await send(url, { headers: signed, body: JSON.stringify({ a: 'x'.repeat(1_100_000) }) })
        await printed(/"finding":"refused"/)
      },
      { env },
    )
    const event = parseEvents(listener).at(-1)
    expect(event).toMatchObject({ code: 'signature_mismatch' })
    expect(event).not.toHaveProperty('diagnosis')
  })

  it('returns 413 without reading the body if content-length exceeds the limit', async () => {
    await withListener(
      [],
      async (url) => {
        const { host } = new URL(url)
        const response = await raw(
          url,
          `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 99999999\r\n\r\n`,
        )
        expect(response).toMatch(/^HTTP\/1\.1 413 /)
      },
      { env },
    )
  })

  it('stops reading a body without content-length when it exceeds --limit', async () => {
    await withListener(
      ['--limit', '64kb'],
      async (url) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        let response = ''
        socket.setEncoding('utf8').on('data', (text) => {
          response += text
        })
        const headers = ['host: a', `x-service: ${'0'.repeat(64)}`, 'content-type: application/json']
        socket.write(`POST / HTTP/1.1\r\n${headers.join('\r\n')}\r\ntransfer-encoding: chunked\r\n\r\n`)
        // The body never ends, so without the limit the response would come only after the timeout.
        for (let chunk = 0; chunk < 9; chunk++) socket.write(`2000\r\n${'a'.repeat(0x2000)}\r\n`)
        while (!response.includes('\r\n')) await once(socket, 'data')
        socket.destroy()
        expect(response).toMatch(/^HTTP\/1\.1 413 /)
      },
      { env },
    )
  })
})
