import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createReceiver } from 'geohook'
import { createMemoryDuplicates } from 'geohook/inbox'
import { webhook } from 'geohook/node'
import { describe, expect, it } from 'vitest'
import { createFolder, geohook, withListener } from '../../helpers/cli.ts'
import { captureJson } from '../../helpers/cli-captures.ts'
import { withTarget } from '../../helpers/cli-servers.ts'
import { base64Of, KEY, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { send } from '../../helpers/http.ts'
import { unusedUrl } from '../../helpers/target.ts'

const folder = createFolder()
const BINARY = Uint8Array.from({ length: 256 }, (_, byte) => byte)

const CAPTURE = captureJson({
  headers: [
    ['Host', 'receiver.example'],
    ['Content-Type', 'application/json'],
    ['X-Twice', '1'],
    ['X-Twice', '2'],
    ['Connection', 'keep-alive'],
    ['Content-Length', '999'],
    ['X-Service', 'as it was'],
  ],
  body: Buffer.from(BINARY).toString('base64'),
})
const capture = folder.file('capture.json', JSON.stringify(CAPTURE))

describe.concurrent('geohook replay', () => {
  it('sends a capture of 7 MB', () =>
    withTarget(async ({ url, requests }) => {
      const body = Buffer.alloc(5 * 1024 * 1024, BINARY)
      const file = folder.file('large.json', JSON.stringify({ ...CAPTURE, body: body.toString('base64') }))
      expect((await geohook(['replay', file, '--to', url])).code).toBe(0)
      expect(requests[0]?.body.equals(body)).toBe(true)
    }))

  it('sends a capture unchanged', () =>
    withTarget(async ({ url, requests }) => {
      const result = await geohook(['replay', capture, '--to', `${url}/other`])
      expect(result).toEqual({ code: 0, stdout: `200  ${capture}\n1 response with 2xx, of 1\n`, stderr: '' })
      const [request] = requests
      expect(request).toMatchObject({ method: 'POST', url: '/other' })
      expect(request?.body.equals(BINARY)).toBe(true)
      expect(request?.headers).toMatchObject({
        host: new URL(url).host,
        'content-length': '256',
        'x-service': 'as it was',
        'x-twice': '1, 2',
      })
    }))

  it('replaces the signature with --resign', () =>
    withTarget(async ({ url, requests }) => {
      const resign = ['--resign', '--key', KEY]
      await geohook(['replay', capture, '--to', url, ...resign])
      await geohook([
        'replay',
        capture,
        '--to',
        url,
        ...resign,
        '--encoding',
        'base64',
        '--prefix',
        'sha256=',
      ])
      await geohook(['replay', capture, '--to', url, ...resign, '--signature-header', 'x-mine'])
      expect(requests.map(({ headers }) => headers['x-service'])).toEqual([
        signatureOf(BINARY),
        `sha256=${base64Of(BINARY)}`,
        'as it was',
      ])
      expect(requests[2]?.headers['x-mine']).toBe(signatureOf(BINARY))
    }))

  it('sends each capture --count times, and exits with 1 if a response is not 2xx', () =>
    withTarget(
      async ({ url, requests }) => {
        const args = ['replay', capture, '--to', url, '--count', '20', '--concurrency', '4', '--json']
        const result = await geohook(args)
        expect(result).toMatchObject({ code: 1, stderr: '' })
        const { results } = JSON.parse(result.stdout) as { results: { status: number }[] }
        expect(results.length).toBe(20)
        expect(results.filter(({ status }) => status === 500).length).toBe(10)
        expect(requests.length).toBe(20)
      },
      { statuses: [200, 500] },
    ))

  it('sends captures of geohook listen in order of arrival, and a receiver verifies them again', async () => {
    const captures = join(folder.path, 'captures')
    const env = { SIGNATURE_KEY: KEY }
    const bodies = ['FeaturesCreated', 'FeaturesDeleted'].map((type) => payloadOf(type))
    await withListener(
      ['--save', captures, '--count', '2'],
      async (url, { exited }) => {
        for (const body of bodies) {
          const headers = { 'content-type': 'application/json', 'x-service': signatureOf(body) }
          await send(url, { headers, body })
        }
        await exited
      },
      { env },
    )
    const { listener } = await withListener(
      ['--count', '2'],
      async (url, { exited }) => {
        expect((await geohook(['replay', captures, '--to', url])).code).toBe(0)
        await exited
      },
      { env },
    )
    expect(listener.stdout).toMatch(/verified +200 {2}FeaturesCreated .*verified +200 {2}FeaturesDeleted /s)
  })

  it('says for which captures no handler of a geohook receiver ran', async () => {
    const ran: string[] = []
    const receiver = createReceiver({ signatureKey: KEY, duplicates: createMemoryDuplicates() }).on(
      'FeaturesCreated',
      ({ changeType }) => ran.push(changeType),
    )
    const server = createServer(webhook(receiver)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const files = ['FeaturesCreated', 'FeaturesDeleted'].map((type) => {
      const body = payloadOf(type)
      const headers = [
        ['content-type', 'application/json'],
        ['x-service', signatureOf(body)],
      ]
      const value = captureJson({ headers, body: Buffer.from(body).toString('base64') })
      return folder.file(`${type}.json`, JSON.stringify(value))
    })
    const args = ['replay', ...files, '--to', to, '--count', '2']
    const first = await geohook(args)
    const again = await geohook([...args, '--json'])
    server.close()
    expect(ran).toEqual(['FeaturesCreated'])
    expect(first).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        `200  ${files[0]}`,
        `200  ${files[0]}  duplicate: no handler ran`,
        `200  ${files[1]}  unhandled: no handler for its change types`,
        `200  ${files[1]}  unhandled: no handler for its change types`,
        '4 responses with 2xx, of 4; no handler ran for 1 duplicate and 2 unhandled\n',
      ].join('\n'),
    })
    const [file] = files
    expect(JSON.parse(again.stdout).results[0]).toEqual({ file, status: 200, outcome: 'duplicate' })
  })

  it.each([
    ['other JSON', 200, '{"status":"constructor"}'],
    ['an error', 500, '{"status":"duplicate"}'],
    ['a long body', 200, `{"status":"duplicate"}${' '.repeat(100)}`],
  ])('reads no outcome from %s', (_, status, body) =>
    withTarget(
      async ({ url }) => {
        const { stdout } = await geohook(['replay', capture, '--to', url])
        expect(stdout).toMatch(new RegExp(`^${status} {2}\\S+\\n\\d responses? with 2xx, of 1\\n$`))
      },
      { statuses: [status], body },
    ),
  )

  it('exits with 3 when the receiver is unreachable, and prints the error for each capture', async () => {
    const url = await unusedUrl()
    const result = await geohook(['replay', capture, capture, '--to', url])
    expect(result).toMatchObject({ code: 3, stderr: '' })
    expect(result.stdout).toMatch(/^(--- .*: connection refused\n){2}0 responses with 2xx, of 2\n$/)
  })

  it('names the file and the invalid member of a capture', async () => {
    const broken: [string, unknown][] = [
      ['geohook', { ...CAPTURE, geohook: 1 }],
      ['version', { ...CAPTURE, version: 2 }],
      ['receivedAt', { ...CAPTURE, receivedAt: 'x' }],
      ['method', { ...CAPTURE, method: 'P T' }],
      ['url', { ...CAPTURE, url: null }],
      ['headers', { ...CAPTURE, headers: [['a', 'b\r\nc: d']] }],
      ['headers', { ...CAPTURE, headers: { a: 'b' } }],
      ['body', { ...CAPTURE, body: 'not base64' }],
      ['outcome', { ...CAPTURE, outcome: {} }],
      ['outcome', { ...CAPTURE, outcome: { status: 200, code: 1 } }],
      ['geohook', null],
      ['geohook', []],
    ]
    await Promise.all(
      broken.map(async ([member, value], index) => {
        const file = folder.file(`broken-${index}.json`, JSON.stringify(value))
        const result = await geohook(['replay', file, '--to', 'http://127.0.0.1:1'])
        expect(result).toMatchObject({ code: 2, stdout: '' })
        expect(result.stderr).toMatch(
          new RegExp(`^error: .*broken-${index}\\.json is not a capture: ${member} must be `),
        )
      }),
    )
  })

  it.each([
    [
      'a file that is not JSON',
      [folder.file('no.json', '{"a": 1\n!}')],
      /no\.json is not JSON: look at line 2, column 1/,
    ],
    ['an incomplete file', [folder.file('half.json', '{"a"')], /half\.json is not JSON/],
    ['an empty file', [folder.file('empty.json', '')], /empty\.json is not JSON/],
    [
      'an empty folder',
      [mkdirSync(join(folder.path, 'empty'), { recursive: true }) ?? ''],
      /contains no captures/,
    ],
    ['a missing file', ['nowhere.json'], /cannot read nowhere\.json: no such file/],
    ['a key without --resign', [capture, '--key', KEY], /a key requires --resign/],
    ['--resign without a key', [capture, '--resign'], /the signature key is missing/],
    ['no file', [], /missing required argument 'captures'/],
  ])('refuses %s with exit code 2', async (_, args, message) => {
    const result = await geohook(['replay', '--to', 'http://127.0.0.1:1', ...args])
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(result.stderr).toMatch(message)
  })
})
