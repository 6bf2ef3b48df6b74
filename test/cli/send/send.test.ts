import { describe, expect, it } from 'vitest'
import { createFolder, startGeohook } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'
import { base64Of, KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, type Target, unusedUrl } from '../../helpers/target.ts'

const { geohook } = useGeohook()

const folder = createFolder()
const BINARY = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const body = folder.file('body.bin', BINARY)
const env = { SIGNATURE_KEY: KEY }

async function withTarget(use: (target: Target) => Promise<void>, status = 200): Promise<void> {
  const target = await startTarget((res) => res.writeHead(status).end('{"status":"handled"}'))
  try {
    await use(target)
  } finally {
    await target.close()
  }
}

describe.concurrent('geohook send', () => {
  it('signs and posts the exact bytes of a file or of the standard input', () =>
    withTarget(async ({ url, requests }) => {
      const ran = await geohook(['send', body, '--to', `${url}/hook?a=b`], { env })
      expect(ran).toEqual({ code: 0, stdout: '200  {"status":"handled"}\nsent 256 bytes\n', stderr: '' })
      await geohook(['send', '-', '--to', url], { env, stdin: BINARY })
      expect(requests.length).toBe(2)
      for (const request of requests) {
        expect(request.body.equals(BINARY)).toBe(true)
        expect(request.headers).toMatchObject({
          'content-type': 'application/json',
          'content-length': '256',
          'x-service': signatureOf(BINARY),
        })
      }
      expect(requests[0]).toMatchObject({ method: 'POST', url: '/hook?a=b' })
    }))

  it('makes a payload, a form, and the signature in any form', () =>
    withTarget(async ({ url, requests }) => {
      const made = ['--change-type', 'FeaturesCreated', '--change-type', 'FeaturesDeleted']
      const written = ['--encoding', 'base64', '--prefix', 'sha256=', '--signature-header', 'X-Mine']
      const more = ['--form', '--header', 'x-other: 1', '--json']
      const ran = await geohook(['send', '--to', url, ...made, ...written, ...more], { env })
      expect(JSON.parse(ran.stdout)).toEqual({
        status: 200,
        bytes: requests[0]?.body.length,
        answer: '{"status":"handled"}',
      })
      const [request] = requests
      expect(request?.headers).toMatchObject({
        'content-type': 'application/x-www-form-urlencoded',
        'x-mine': `sha256=${base64Of(request?.body ?? '')}`,
        'x-other': '1',
      })
      const payload = JSON.parse(new URLSearchParams(request?.body.toString()).get('payload') ?? '')
      expect(payload.events.map(({ eventType }: { eventType: string }) => eventType)).toEqual([
        'FeaturesCreated',
        'FeaturesDeleted',
      ])
      await geohook(['send', body, '--to', url, '--content-type', 'text/plain'], { env })
      expect(requests[1]?.headers['content-type']).toBe('text/plain')
    }))

  it.each([401, 302, 500])('ends with 1 when it is answered %i', (status) =>
    withTarget(async ({ url }) => {
      const ran = await geohook(['send', body, '--to', url], { env })
      expect(ran).toMatchObject({ code: 1, stderr: '' })
      expect(ran.stdout).toMatch(new RegExp(`^${status} `))
    }, status),
  )

  it('ends with 3 when nobody is there, or what is there does not speak HTTP', async () => {
    const url = await unusedUrl()
    const ran = await geohook(['send', body, '--to', url], { env })
    expect(ran).toMatchObject({ code: 3, stdout: '' })
    expect(ran.stderr).toBe(
      `error: cannot reach ${url}: connection refused\nIs it running, and is the port right?\n`,
    )
    const json = await geohook(['send', body, '--to', url, '--json'], { env })
    expect(json).toMatchObject({ code: 3, stdout: '' })
    expect(JSON.parse(json.stderr)).toEqual({
      error: {
        code: 'unreachable',
        message: `cannot reach ${url}: connection refused`,
        hint: 'Is it running, and is the port right?',
      },
    })
    const target = await startTarget((res) => res.socket?.end('SSH-2.0\r\n'))
    const strange = await geohook(['send', body, '--to', target.url], { env })
    await target.close()
    expect(strange.code).toBe(3)
    expect(strange.stderr).toMatch(/does not speak HTTP/)
  })

  it.each([
    ['nothing to send', ['--to', 'http://127.0.0.1:1']],
    ['a file and a change type', [body, '--change-type', 'x', '--to', 'http://127.0.0.1:1']],
    ['no address', [body]],
    ['an address that is none', [body, '--to', 'ftp://127.0.0.1']],
    ['a form of bytes that are no text', [body, '--form', '--to', 'http://127.0.0.1:1']],
    [
      'a content type that would be two lines',
      [body, '--content-type', 'a\r\nb', '--to', 'http://127.0.0.1:1'],
    ],
  ])('refuses %s with the exit code 2', async (_, args) => {
    const ran = await geohook(['send', ...args], { env })
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toMatch(/^error: .+\n(.+\n)?$/)
  })

  it('tells what it waits for when it takes longer than a second', async () => {
    const target = await startTarget((res) => setTimeout(() => res.end(), 1_300))
    const args = ['send', body, '--to', target.url]
    const [told, quiet] = [startGeohook(args, { env }), startGeohook([...args, '--json'], { env })]
    expect([await told.exited, await quiet.exited]).toEqual([0, 0])
    await target.close()
    expect(told.stderr).toMatch(/^waiting for http:\S+ \(\d+ s\)\n/)
    expect(quiet.stderr).toBe('')
  })
})
