import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFolder, startGeohook, withListener } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { KEY, signatureOf } from '../../helpers/deliver.ts'
import { raw, send } from '../../helpers/http.ts'
import { startTarget } from '../../helpers/target.ts'

const { geohook } = useGeohook()

const folder = createFolder()
const env = { SIGNATURE_KEY: KEY }
const BODY = '{"serviceName":"Parcels","events":[{"eventType":"FeaturesCreated"}]}'
const signed = { 'content-type': 'application/json', 'x-service': signatureOf(BODY) }

/** A server that answers every connection with these bytes, and keeps what it was sent. */
async function startRaw(
  answer: string,
): Promise<{ url: string; received(): string; close(): Promise<void> }> {
  let received = ''
  const server: Server = createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (data) => {
        received += data.toString('latin1')
        socket.write(answer)
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    async close() {
      server.close()
      await once(server, 'close')
    },
  }
}

describe('a body is sent with its length, whatever the method is', () => {
  it('listen --forward-refused does not let a stranger smuggle a request', async () => {
    const target = await startTarget((res) => res.end())
    await withListener(
      ['--forward-to', target.url, '--forward-refused'],
      async (url) => {
        const body = 'POST /smuggled HTTP/1.1\r\nhost: v\r\ncontent-length: 0\r\n\r\n'
        await send(url, { method: 'GET', headers: { 'content-length': body.length }, body })
      },
      { env },
    )
    await target.close()
    expect(target.requests.map(({ method, url }) => `${method} ${url}`)).not.toContain('POST /smuggled')
  })
})

describe('what answers something odd', () => {
  it.each([
    ['a status that is none', 'HTTP/1.1 099 x\r\ncontent-length: 0\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ])('%s: listen --forward-to answers 502, and goes on', async (_, answer) => {
    const target = await startRaw(answer)
    const { code } = await withListener(
      ['--forward-to', target.url],
      async (url, { printed }) => {
        for (const when of [1, 2]) {
          expect((await send(url, { headers: signed, body: BODY })).status).toBe(502)
          await printed(new RegExp(`(forwarded.*){${when}}`, 's'))
        }
      },
      { env },
    )
    await target.close()
    expect(code).toBe(0)
  })

  it('another protocol: a command says that nobody was reached', async () => {
    const target = await startRaw('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    const ran = await geohook(['list', '--url', target.url])
    await target.close()
    expect(ran).toMatchObject({ code: 3, stdout: '' })
  })

  it.each([
    ['list', ['list']],
    ['trigger', ['trigger', 'Parcels.FeatureServer', 'FeaturesCreated']],
  ])('no service at all: %s does not say that all is well', async (_, args) => {
    const target = await startTarget((res) => res.end('{"hello":1}'))
    const ran = await geohook([...args, '--url', target.url])
    await target.close()
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('Is it the base address of the service?')
  })

  it('a service that quotes the token, or names a key in its own way: neither is printed', async () => {
    const webhook = { id: 'a', name: 'n', SignatureKey: 'SECRET-2', secret: 'SECRET-3' }
    const list = await startTarget((res) => res.end(JSON.stringify({ webhooks: [webhook] })))
    const error = await startTarget((res) =>
      res.end(JSON.stringify({ status: 'error', messages: ['bad token TOKEN-1'], code: 498 })),
    )
    const options = { env: { GEOHOOK_TOKEN: 'TOKEN-1' } }
    for (const [url, mode] of [
      [list.url, '--json'],
      [error.url, '--json'],
      [error.url, ''],
    ] as const) {
      const { stdout, stderr } = await geohook(['list', '--url', url, ...(mode ? [mode] : [])], options)
      expect(stdout + stderr).not.toMatch(/TOKEN-1|SECRET/)
      expect(stdout + stderr).toContain('***')
    }
    await Promise.all([list.close(), error.close()])
  })
})

describe('geohook listen', () => {
  it('ends within seconds, whoever does not read its answers', async () => {
    const listener = startGeohook(['listen', '--port', '0'], { env })
    const [, url = ''] = await listener.printed(/(http:\/\/\S+)/)
    const { hostname, port, host } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {}).pause()
    const request = `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 2\r\n\r\n{}`
    socket.write(request.repeat(5000))
    await listener.printed(/refused/)
    expect(await listener.stop('SIGINT')).toBe(0)
    socket.destroy()
  })

  it('does not pass deliveries on to itself', async () => {
    const [port] = [20000 + (process.pid % 20000)]
    const ran = await geohook(['listen', '--port', `${port}`, '--forward-to', `http://localhost:${port}/x`], {
      env,
    })
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('--forward-to is the address of the listener itself')
  })

  it('says that a right signature is in another encoding than it was told', async () => {
    const { listener } = await withListener(
      ['--encoding', 'hex'],
      async (url, { printed }) => {
        const signature = Buffer.from(signatureOf(BODY), 'hex').toString('base64')
        await send(url, { headers: { ...signed, 'x-service': signature }, body: BODY })
        await printed(/fix:/)
      },
      { env },
    )
    expect(listener.stdout).toMatch(/signature_encoding: The signature is right, but not written in hex\./)
  })

  it('does not explain what is large, so that strangers cannot keep it busy', async () => {
    const { listener } = await withListener(
      ['--json'],
      async (url, { printed }) => {
        const body = JSON.stringify({ a: 'x'.repeat(100_000) })
        await send(url, { headers: { ...signed }, body })
        await printed(/"finding":"refused"/)
      },
      { env },
    )
    const told = JSON.parse(listener.stdout.trim().split('\n').at(-1) ?? '')
    expect(told).toMatchObject({ code: 'signature_mismatch' })
    expect(told).not.toHaveProperty('diagnosis')
  })

  it('refuses what says that it is too large before it is sent', async () => {
    await withListener(
      [],
      async (url) => {
        const { host } = new URL(url)
        const answer = await raw(url, `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 99999999\r\n\r\n`)
        expect(answer).toMatch(/^HTTP\/1\.1 413 /)
      },
      { env },
    )
  })

  it('saves what it can read again, whatever the method is', async () => {
    const captures = join(folder.path, 'odd')
    await withListener(
      ['--save', captures, '--unsigned', 'accept'],
      async (url, { printed }) => {
        const { host } = new URL(url)
        await raw(
          url,
          `M-SEARCH / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        )
        await printed(/method_not_allowed[\s\S]*saved/)
        await send(url, { headers: { 'content-type': 'application/json' }, body: BODY })
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

  it.each([
    [['--host', ''], '--host is empty'],
    [['--path', '/a?b'], '--path must begin with /'],
  ])('refuses %j', async (args, message) => {
    const ran = await geohook(['listen', ...args], { env })
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain(message)
  })
})

it('a mock that cannot start leaves no state: it would take the place of the seed from then on', async () => {
  const taken = await startRaw('')
  const state = join(folder.path, 'never.json')
  const ran = await geohook(['mock', '--port', new URL(taken.url).port, '--state', state])
  await taken.close()
  expect(ran.code).toBe(2)
  expect(readdirSync(folder.path).filter((name) => name.startsWith('never'))).toEqual([])
})

describe('wrong usage', () => {
  it.each([
    ['a second reader of the standard input', ['sign', '-', '--key-file', '-'], 'it can be read only once'],
    ['help for what is no command', ['help', 'bogus'], ''],
    ['an address with a query', ['list', '--url', 'http://127.0.0.1:1/?a=b'], '--url has a query'],
  ])('%s ends with 2', async (_, args, message) => {
    const ran = await geohook(args, { stdin: createHash('sha256').digest('hex') })
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain(message)
  })
})
