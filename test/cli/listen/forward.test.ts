import { describe, expect, it } from 'vitest'
import { geohook, withListener } from '../../helpers/cli.ts'
import { startRawServer, withTarget } from '../../helpers/cli-servers.ts'
import { KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'
import { findPort } from '../../helpers/port.ts'
import { startTarget, unusedUrl } from '../../helpers/target.ts'

const env = { SIGNATURE_KEY: KEY }
const body = payloadOf('FeaturesCreated')
const JSON_TYPE = { 'content-type': 'application/json' }
const signed = (bytes: string | Uint8Array): Record<string, string> => ({
  ...JSON_TYPE,
  'x-service': signatureOf(bytes),
})

describe.concurrent('geohook listen --forward-to', () => {
  it('forwards the exact bytes and headers of verified requests, and returns the response', async () => {
    const target = await startTarget((res) => {
      res.writeHead(201, { 'content-type': 'application/octet-stream', 'x-answer': ['1', '2'] })
      res.end(Buffer.from([0, 255, 128]))
    })
    try {
      await withListener(
        ['--forward-to', `${target.url}/hook?x=1`],
        async (url, { printed }) => {
          const payload = payloadOf('FeaturesCreated').replace('Parcels', 'Flurst\u00fccke')
          const response = await fetch(url, {
            method: 'POST',
            headers: { ...signed(payload), 'x-mine': '\u00e9' },
            body: payload,
          })
          expect(response.status).toBe(201)
          expect(response.headers.get('x-answer')).toBe('1, 2')
          expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0, 255, 128])
          await printed(/forwarded: answered 201/)
          const [request] = target.requests
          expect(request).toMatchObject({ method: 'POST', url: '/hook?x=1' })
          expect(request?.body.equals(Buffer.from(payload))).toBe(true)
          expect(request?.headers).toMatchObject({ 'x-service': signatureOf(payload), 'x-mine': '\u00e9' })
          expect(request?.headers.host).toBe(new URL(target.url).host)
        },
        { env },
      )
    } finally {
      await target.close()
    }
  })

  it('forwards repeated headers, and a signature header that is listed in the connection header', () =>
    withTarget(async ({ url: target, requests }) => {
      await withListener(
        ['--forward-to', target],
        async (url) => {
          const headers = {
            ...signed(body),
            'X-Twice': ['a', 'b'],
            connection: 'keep-alive, x-service, content-type',
          }
          await send(url, { headers, body })
          expect(requests[0]?.headers['x-twice']).toBe('a, b')
          expect(requests[0]?.headers).toMatchObject(signed(body))
        },
        { env },
      )
    }))

  it('does not forward refused requests', () =>
    withTarget(async ({ url: target, requests }) => {
      await withListener(
        ['--forward-to', target],
        async (url, { printed }) => {
          expect((await send(url, { headers: JSON_TYPE, body })).status).toBe(401)
          await printed(/refused/)
          expect(requests).toEqual([])
        },
        { env },
      )
    }))

  it('forwards refused requests with --forward-refused, and keeps all 256 byte values', () =>
    withTarget(
      async ({ url: target, requests }) => {
        const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
        await withListener(
          ['--forward-to', target, '--forward-refused'],
          async (url) => {
            expect((await send(url, { headers: signed(bytes), body: bytes })).status).toBe(204)
            expect(requests[0]?.body.equals(bytes)).toBe(true)
          },
          { env },
        )
      },
      { statuses: [204] },
    ))

  it('declares the length of every forwarded body, so that a body cannot smuggle a request', () =>
    withTarget(async ({ url: target, requests }) => {
      const body = 'POST /smuggled HTTP/1.1\r\nhost: v\r\ncontent-length: 0\r\n\r\n'
      await withListener(
        ['--forward-to', target, '--forward-refused'],
        async (url) => {
          await send(url, { method: 'GET', headers: { 'content-length': body.length }, body })
        },
        { env },
      )
      const forwarded = requests.map(({ method, headers, body }) => [
        method,
        headers['content-length'],
        String(body),
      ])
      expect(forwarded).toEqual([['GET', String(body.length), body]])
    }))

  it('returns 502 with Retry-After when the target is unreachable', async () => {
    const to = await unusedUrl()
    await withListener(
      ['--forward-to', to],
      async (url, { printed }) => {
        const response = await send(url, { headers: signed(body), body })
        expect(response).toMatchObject({ status: 502, headers: { 'retry-after': '5' } })
        await printed(/verified +502.*\n +forwarded: cannot reach .*: connection refused/)
      },
      { env },
    )
  })

  it('returns 502 when the target does not respond within --forward-timeout, 8 s by default', async () => {
    const target = await startRawServer()
    const listen = async (args: string[], pattern: RegExp): Promise<void> => {
      await withListener(
        ['--forward-to', target.url, ...args],
        async (url, { printed }) => {
          expect((await send(url, { headers: signed(body), body })).status).toBe(502)
          await printed(pattern)
        },
        { env },
      )
    }
    await listen(['--forward-timeout', '50'], /forwarded: cannot reach .*: no response within 0\.05 s/)
    await target.close()
    expect((await geohook(['listen', '--help'])).stdout.replace(/\s+/g, ' ')).toContain('(default: 8000)')
  })

  it.each([
    ['an invalid status', 'HTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ])('returns 502 and keeps listening when the target answers with %s', async (_, answer) => {
    const target = await startRawServer(answer)
    const { code } = await withListener(
      ['--forward-to', target.url],
      async (url, { printed }) => {
        for (const count of [1, 2]) {
          expect((await send(url, { headers: signed(body), body })).status).toBe(502)
          await printed(new RegExp(`(forwarded.*){${count}}`, 's'))
        }
      },
      { env },
    )
    await target.close()
    expect(code).toBe(0)
  })

  it('refuses its own address', async () => {
    const port = String(await findPort())
    const args = ['listen', '--port', port, '--forward-to', `http://localhost:${port}/x`]
    const result = await geohook(args, { env })
    expect(result.code).toBe(2)
    expect(result.stderr).toContain('--forward-to is the address of the listener itself')
  })
})
