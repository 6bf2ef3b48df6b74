import { describe, expect, it } from 'vitest'
import { createFolder, geohook, startGeohook } from '../../helpers/cli.ts'
import { startHeldTarget, withTarget } from '../../helpers/cli-servers.ts'
import { base64Of, KEY, signatureOf } from '../../helpers/deliver.ts'
import { startTarget, unusedUrl } from '../../helpers/target.ts'

const folder = createFolder()
const BINARY = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const body = folder.file('body.bin', BINARY)
const env = { SIGNATURE_KEY: KEY }

const RESPONSE = { body: '{"status":"handled"}' }

describe.concurrent('geohook send', () => {
  it('signs and posts the exact bytes of a file or standard input', () =>
    withTarget(async ({ url, requests }) => {
      const result = await geohook(['send', body, '--to', `${url}/hook?a=b`], { env })
      expect(result).toEqual({ code: 0, stdout: '200  {"status":"handled"}\nsent 256 bytes\n', stderr: '' })
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
    }, RESPONSE))

  it('applies the options for the payload, the signature and the content type', () =>
    withTarget(async ({ url, requests }) => {
      const made = ['--change-type', 'FeaturesCreated', '--change-type', 'FeaturesDeleted']
      const written = ['--encoding', 'base64', '--prefix', 'sha256=', '--signature-header', 'X-Mine']
      const more = ['--form', '--header', 'x-other: 1', '--json']
      const result = await geohook(['send', '--to', url, ...made, ...written, ...more], { env })
      expect(JSON.parse(result.stdout)).toEqual({
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
    }, RESPONSE))

  it.each([401, 302, 500])('exits with 1 for a response with status %i', (status) =>
    withTarget(
      async ({ url }) => {
        const result = await geohook(['send', body, '--to', url], { env })
        expect(result).toMatchObject({ code: 1, stderr: '' })
        expect(result.stdout).toMatch(new RegExp(`^${status} `))
      },
      { ...RESPONSE, statuses: [status] },
    ),
  )

  it('exits with 3 when the receiver is unreachable or does not speak HTTP', async () => {
    const url = await unusedUrl()
    const result = await geohook(['send', body, '--to', url], { env })
    expect(result).toMatchObject({ code: 3, stdout: '' })
    expect(result.stderr).toBe(
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
    ['a missing body', ['--to', 'http://127.0.0.1:1']],
    ['a file and a change type', [body, '--change-type', 'x', '--to', 'http://127.0.0.1:1']],
    ['a missing URL', [body]],
    ['an invalid URL', [body, '--to', 'ftp://127.0.0.1']],
    ['a form whose body is not text', [body, '--form', '--to', 'http://127.0.0.1:1']],
    ['a content type of two lines', [body, '--content-type', 'a\r\nb', '--to', 'http://127.0.0.1:1']],
  ])('refuses %s with exit code 2', async (_, args) => {
    const result = await geohook(['send', ...args], { env })
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toMatch(/^error: .+\n(.+\n)?$/)
  })

  it('reports progress after one second, except with --json', async () => {
    const target = await startHeldTarget()
    const args = ['send', body, '--to', target.url]
    const quiet = startGeohook([...args, '--json'], { env, pace: 0.01 })
    // The command with --json starts first. When the second reports its wait, the first has waited at least as long.
    await target.arrived(1)
    const started = startGeohook(args, { env, pace: 0.01 })
    await target.arrived(2)
    await started.printed(/waiting for .* \(\d+ s\)\n/)
    target.release()
    expect([await started.exited, await quiet.exited]).toEqual([0, 0])
    await target.close()
    expect(started.stderr).toMatch(/^waiting for http:\S+ \(\d+ s\)\n/)
    expect(quiet.stderr).toBe('')
  })
})
