import { once } from 'node:events'
import fs from 'node:fs'
import { Agent, request } from 'node:http'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import express from 'express'
import {
  createReceiver,
  explain,
  type KeyringFile,
  type Observer,
  type Receiver,
  type ReceiverOptions,
  verify,
  WebhookError,
} from 'geohook'
import { webhook as expressWebhook } from 'geohook/express'
import { keyring, webhook } from 'geohook/node'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { base64Of, deliver as deliverTo, JSON_TYPE, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { createGate } from '../helpers/gate.ts'
import { answerOf, raw, send } from '../helpers/http.ts'
import { serve } from '../helpers/served.ts'
import { warningsOf } from '../helpers/warnings.ts'

const BODY = payloadOf('A')
const IS_WINDOWS = process.platform === 'win32'

/** The content of a file with these keys, whose ids are their texts in upper case. */
const ring = (...keys: string[]): string =>
  JSON.stringify({ keys: keys.map((key) => ({ id: key.toUpperCase(), key })) })

let path: string
beforeEach(() => {
  const folder = createFolder()
  onTestFinished(() => folder.remove())
  path = folder.fileIn('keys.json')
})

const write = (content: string | Uint8Array, file = path): void =>
  fs.writeFileSync(file, content, { mode: 0o600 })

/** Replaces the file as a program should: no reader sees a part of it. */
function replace(content: string): void {
  write(content, `${path}.new`)
  fs.renameSync(`${path}.new`, path)
}

interface Ring {
  receiver: Receiver
  url: string
  /** Sends a delivery that is signed with a key. Resolves with the status of the response. */
  deliver(key: string): Promise<number>
  /** Moves the clock of the receiver on by a second. */
  pass(): void
}

/** Serves a receiver with the keys of a file, and a clock that the test moves. */
async function start(
  options: Partial<ReceiverOptions> = {},
  keys: KeyringFile = keyring(path),
): Promise<Ring> {
  let now = 1_000_000
  const receiver = createReceiver({
    observer: { refused() {} },
    clock: () => now,
    ...options,
    signatureKey: keys,
  }).on('*', () => {})
  const { url } = await serve(webhook(receiver))
  return {
    receiver,
    url,
    async deliver(key) {
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY, key) }
      return (await send(url, { headers, body: BODY })).status
    },
    pass() {
      now += 1_000
    },
  }
}

/** Counts the reads of the file from now on. */
function countReads(): { readonly count: number } {
  const spy = vi.spyOn(fs.promises, 'stat')
  onTestFinished(() => spy.mockRestore())
  return {
    get count() {
      return spy.mock.calls.filter(([file]) => file === path).length
    },
  }
}

describe('a receiver with a keyring', () => {
  it.each<[string, () => void, (content: string) => void]>([
    ['is replaced', () => write(ring('old')), replace],
    ['is rewritten in place', () => write(ring('old')), write],
    [
      'is rewritten in place with the same size and time',
      () => write(ring('old')),
      (content) => {
        const { atime, mtime } = fs.statSync(path)
        write(content)
        fs.utimesSync(path, atime, mtime)
      },
    ],
    [
      'is below a symbolic link that is swapped, as in Kubernetes',
      () => {
        for (const version of ['..1', '..2']) fs.mkdirSync(join(path, '..', version))
        write(ring('old'), join(path, '..', '..1', 'keys.json'))
        fs.symlinkSync('..1', join(path, '..', '..data'))
        fs.symlinkSync(join('..data', 'keys.json'), path)
      },
      (content) => {
        write(content, join(path, '..', '..2', 'keys.json'))
        fs.symlinkSync('..2', join(path, '..', '..data_tmp'))
        fs.renameSync(join(path, '..', '..data_tmp'), join(path, '..', '..data'))
        fs.rmSync(join(path, '..', '..1'), { recursive: true })
      },
    ],
  ])(
    'accepts a new key at once, and no removed key after a second, when the file %s',
    async (_, prepare, change) => {
      prepare()
      const { deliver, pass } = await start()
      expect([await deliver('old'), await deliver('new')]).toEqual([200, 401])
      change(ring('new'))
      expect(await deliver('old')).toBe(200) // the receiver has read the file less than a second ago
      expect(await deliver('new')).toBe(200)
      pass()
      expect([await deliver('old'), await deliver('new')]).toEqual([401, 200])
    },
  )

  it('refuses a removed key with the first request after a pause', async () => {
    write(ring('new', 'old'))
    const { deliver, pass } = await start()
    expect(await deliver('old')).toBe(200)
    replace(ring('new'))
    pass()
    expect(await Promise.all([deliver('old'), deliver('old'), deliver('new')])).toEqual([401, 401, 200])
  })

  it('reads the file at most once a second while signatures match, also for simultaneous requests', async () => {
    write(ring('a'))
    const { deliver, pass } = await start()
    const reads = countReads()
    for (const expected of [1, 2, 3]) {
      expect(await Promise.all(Array.from({ length: 20 }, () => deliver('a')))).toEqual(Array(20).fill(200))
      expect(reads.count).toBe(expected)
      pass()
    }
  })

  it('reads the file again after the clock was set back', async () => {
    write(ring('old'))
    let now = 1_000_000
    const { deliver } = await start({ clock: () => now })
    expect(await deliver('old')).toBe(200)
    replace(ring('new'))
    now = 0
    expect(await deliver('old')).toBe(401)
  })

  it('reads the file at most ten times a second for 1,000 wrong signatures, with the usual response', async () => {
    write(ring('a'))
    const { url, deliver } = await start()
    const plain = await serve(webhook(createReceiver({ signatureKey: 'a', observer: { refused() {} } })))
    expect(await deliver('a')).toBe(200)
    const agent = new Agent({ keepAlive: true, maxSockets: 100 })
    onTestFinished(() => agent.destroy())
    const refuse = async (to: string) => {
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY, 'wrong') }
      const req = request(to, { method: 'POST', headers, agent })
      req.end(BODY)
      const { status, headers: received, text } = await answerOf(req)
      return JSON.stringify([status, { ...received, date: '' }, text])
    }
    const expected = await refuse(plain.url)
    const reads = countReads()
    const startedAt = performance.now()
    const responses = await Promise.all(Array.from({ length: 1_000 }, () => refuse(url)))
    const elapsed = performance.now() - startedAt
    expect(new Set(responses)).toEqual(new Set([expected]))
    expect(reads.count).toBeGreaterThan(0)
    expect(reads.count).toBeLessThanOrEqual(Math.ceil(elapsed / 100) + 1)
  })

  it('refuses no delivery during 200 rotations, even under wrong signatures', async () => {
    const keys = ['key0']
    write(ring(...keys))
    const { deliver, pass } = await start()
    const statuses: Promise<number>[] = []
    let isDone = false
    const attack = (async () => {
      while (!isDone) expect(await deliver('wrong')).toBe(401)
    })()
    for (let round = 1; round <= 200; round++) {
      keys.unshift(`key${round}`)
      replace(ring(...keys.slice(0, 100)))
      if (round % 10 === 0) pass()
      statuses.push(deliver(`key${round}`), deliver(`key${round - 1}`))
      if (round % 10 === 0) await Promise.all(statuses)
    }
    const counts = await Promise.all(statuses)
    isDone = true
    await attack
    expect(counts).toEqual(Array(400).fill(200))
  })

  it('accepts a key that is added while the file is read', async () => {
    write(ring('old'))
    const arrived = createGate()
    let requests = 0
    const around: Observer['around'] = () => ++requests === 3 && arrived.release()
    const { deliver } = await start({ observer: { around, refused() {} } })
    expect(await deliver('old')).toBe(200)
    const { gate, release } = createGate()
    const begun = createGate()
    const { readFile } = fs.promises
    const spy = vi.spyOn(fs.promises, 'readFile').mockImplementationOnce(async (file) => {
      const bytes = await readFile(file)
      begun.release()
      await gate
      return bytes
    })
    onTestFinished(() => spy.mockRestore())
    const forged = deliver('wrong')
    await begun.gate
    replace(ring('new'))
    const added = deliver('new')
    await arrived.gate
    await setTimeout(200) // longer than the minimum between two reads
    release()
    expect(await Promise.all([forged, added])).toEqual([401, 200])
    expect(spy.mock.calls.length).toBeGreaterThan(1)
  })

  it('works in a test with fake timers', async () => {
    write(ring('old'))
    const { receiver } = await start()
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY, 'wrong') }
    const statusOf = async () => (await deliverTo(receiver, BODY, headers)).status
    expect([await statusOf(), await statusOf()]).toEqual([401, 401])
  })

  it('accepts a new key in the header secret at once, with the profile portal', async () => {
    write(ring('old'))
    const { url, pass } = await start({ profile: 'portal' })
    const statusOf = async (secret: string) =>
      (await send(url, { headers: { 'content-type': JSON_TYPE, secret }, body: BODY })).status
    expect(await statusOf('old')).toBe(200)
    replace(ring('new'))
    expect([await statusOf('new'), await statusOf('wrong')]).toEqual([200, 401])
    pass()
    expect(await statusOf('old')).toBe(401)
  })

  it('accepts a new key in the signature of a form field at once', async () => {
    write(ring('old'))
    const { url, deliver } = await start()
    expect(await deliver('old')).toBe(200)
    replace(ring('new'))
    const body = `payload=${BODY}&x-service=${signatureOf(BODY, 'new')}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await send(url, { headers, body })).status).toBe(200)
  })

  it('answers a handshake with the first key that the file has at that time', async () => {
    write(ring('old'))
    const { url } = await start({ profile: 'arcgis' })
    const ask = async () => JSON.parse((await send(`${url}/?crc_token=t`, { method: 'GET' })).text)
    expect(await ask()).toEqual({ response_token: `sha256=${base64Of('t', 'old')}` })
    replace(ring('new', 'old'))
    expect(await ask()).toEqual({ response_token: `sha256=${base64Of('t', 'new')}` })
  })

  it('can share it with another receiver', async () => {
    write(ring('old'))
    const keys = keyring(path)
    const [one, other] = [await start({}, keys), await start({}, keys)]
    expect([await one.deliver('old'), await other.deliver('old')]).toEqual([200, 200])
    replace(ring('new'))
    expect(await Promise.all([one.deliver('new'), other.deliver('new')])).toEqual([200, 200])
    const [{ keys: [key] = [] }] = await Promise.all([one.receiver.stats()])
    expect(key).toMatchObject({ id: 'NEW', matched: 1 })
  })

  it('works if keyring() comes from the CommonJS build', async () => {
    write(ring('old'))
    const { keyring: other } = createRequire(import.meta.url)('geohook/node') as typeof import('geohook/node')
    expect(other).not.toBe(keyring)
    const { deliver } = await start({}, other(path))
    expect(await deliver('old')).toBe(200)
    replace(ring('new'))
    expect(await deliver('new')).toBe(200)
  })
})

describe('a handshake', () => {
  const tokenOf = (key: string) => `sha256=${base64Of('t', key)}`
  const startArcgis = (signatureKey: ReceiverOptions['signatureKey'] = keyring(path)): Receiver =>
    createReceiver({ profile: 'arcgis', signatureKey }).on('*', () => {})
  const ask = async (url: string): Promise<string> =>
    JSON.parse((await send(url, { method: 'GET' })).text).response_token

  it.each([
    ['/hooks/parcels/OLD?crc_token=t', 'old'],
    ['/OLD?crc_token=t', 'old'],
    ['/hooks/NEW?crc_token=t', 'new'],
    ['/hooks/OLD?tenant=/NEW&crc_token=t', 'old'],
    ['/hooks?from=/OLD&crc_token=t', 'new'],
    ['/OLD/hooks?crc_token=t', 'new'],
    ['/hooks/OLD/?crc_token=t', 'new'],
    ['/hooks/old?crc_token=t', 'new'],
    ['/hooks/OLDER?crc_token=t', 'new'],
    ['/hooks/x-OLD?crc_token=t', 'new'],
    ['/hooks/%4fLD?crc_token=t', 'new'],
    ['/hooks/a%2FOLD?crc_token=t', 'new'],
    ['/?crc_token=t', 'new'],
  ])('at %s is answered with the key %s', async (target, key) => {
    write(ring('new', 'old'))
    const receiver = startArcgis()
    const { url } = await serve(webhook(receiver))
    expect(await ask(url + target)).toBe(tokenOf(key))
    const response = await receiver.fetch(new Request(`https://app.example${target}`))
    expect(await response.json()).toEqual({ response_token: tokenOf(key) })
  })

  it('with an absolute URL is answered by the path of the URL', async () => {
    write(ring('new', 'old'))
    const { url } = await serve(webhook(startArcgis()))
    const line = `GET http://app.example/hooks/OLD?crc_token=t HTTP/1.1`
    const answer = await raw(url, `${line}\r\nhost: app.example\r\nconnection: close\r\n\r\n`)
    expect(answer).toContain(tokenOf('old'))
  })

  it('below a path of Express is answered by its full path', async () => {
    write(ring('new', 'old'))
    const app = express()
    app.use('/hooks/OLD', expressWebhook(startArcgis()))
    app.use('/hooks', expressWebhook(startArcgis()))
    app.use('/:key', expressWebhook(startArcgis()))
    const { url } = await serve(app)
    for (const [place, key] of [
      ['/hooks/OLD', 'old'],
      ['/hooks/NEW', 'new'],
      ['/hooks/parcels/OLD', 'old'],
      ['/hooks', 'new'],
      ['/OLD', 'old'],
    ] as const)
      expect([place, await ask(`${url}${place}?crc_token=t`)]).toEqual([place, tokenOf(key)])
  })

  it('is answered with the key of an id that has just been added, and with the first once it is removed', async () => {
    write(ring('old'))
    const { url } = await serve(webhook(startArcgis()))
    expect(await ask(`${url}/NEW?crc_token=t`)).toBe(tokenOf('old'))
    replace(ring('old', 'new'))
    expect(await ask(`${url}/NEW?crc_token=t`)).toBe(tokenOf('new'))
    replace(ring('old'))
    expect(await ask(`${url}/NEW?crc_token=t`)).toBe(tokenOf('old'))
  })

  it.each(['/OLD', '/undefined', '/', '/old', '/1'])(
    'with a list of keys is answered with the first, also at %s',
    async (place) => {
      const { url } = await serve(webhook(startArcgis(['new', 'old'])))
      expect(await ask(`${url}${place}?crc_token=t`)).toBe(tokenOf('new'))
    },
  )
})

describe('a file that cannot be used', () => {
  /** Invalid contents, with the problem that the warning or error names. */
  const INVALID: [string, string | Uint8Array, RegExp][] = [
    ['is empty', '', /must be JSON with 1 to 100 keys/],
    ['is cut', ring('secret1', 'secret2').slice(0, -5), /must be JSON/],
    ['is not JSON', 'secret1', /must be JSON/],
    ['is not UTF-8', Buffer.from([0xff, 0xfe]), /must be JSON/],
    ['is a list', '["secret1"]', /must be JSON/],
    ['has no keys', '{"keys":[]}', /1 to 100 keys/],
    [
      'has more than 100 keys',
      ring(...Array.from({ length: 101 }, (_, index) => `secret${index}`)),
      /1 to 100/,
    ],
    ['has a key without an id', '{"keys":[{"key":"secret1"}]}', /keys\[0\]\.id must be at most 100/],
    ['has an id with a space', '{"keys":[{"id":"a b","key":"secret1"}]}', /keys\[0\]\.id/],
    [
      'has the same id twice',
      '{"keys":[{"id":"a","key":"secret1"},{"id":"a","key":"secret2"}]}',
      /keys\[1\] has the id or the key of another/,
    ],
    [
      'has an id without a key',
      '{"keys":[{"id":"a","key":"secret1"},{"id":"b"}]}',
      /keys\[1\]\.key must be text/,
    ],
    [
      'has the same key twice',
      '{"keys":[{"id":"a","key":"secret1"},{"id":"b","key":"secret1"}]}',
      /keys\[1\] has/,
    ],
    ['has an empty key', '{"keys":[{"id":"a","key":""}]}', /keys\[0\]\.key/],
    ['has a blank key', '{"keys":[{"id":"a","key":" "}]}', /keys\[0\]\.key/],
    ['has a key of zero bytes', '{"keys":[{"id":"a","key":"\\u0000"}]}', /keys\[0\]\.key/],
    ['has white space around a key', '{"keys":[{"id":"a","key":"secret1 "}]}', /keys\[0\]\.key/],
    ['has null in place of a key', '{"keys":[null]}', /keys\[0\]\.id/],
    ['is larger than 1 MiB', ' '.repeat(1024 ** 2 + 1), /is larger than 1 MiB/],
  ]

  it.each(INVALID)('is rejected by keyring() if it %s', (_, content, problem) => {
    write(content)
    expect(() => keyring(path)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringMatching(problem),
        stack: expect.not.stringContaining('keyring.node'),
      }),
    )
    expect(() => keyring(path)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('secret') }),
    )
  })

  it.each([...INVALID.slice(0, 4), ...INVALID.slice(-1)])(
    'keeps the last keys and warns once if it %s',
    async (_, content, problem) => {
      write(ring('old'))
      const { deliver, pass } = await start()
      const lines = await warningsOf(async () => {
        write(content)
        for (const _round of [1, 2]) {
          expect([await deliver('old'), await deliver('secret1'), await deliver('wrong')]).toEqual([
            200, 401, 401,
          ])
          pass()
        }
      })
      expect(lines).toEqual([expect.stringMatching(problem)])
      expect(lines[0]).toMatch(/^keyring_invalid: \/.*keys\.json.* The last valid keys stay in use\.$/)
      expect(lines[0]).not.toContain('secret')
      expect(await warningsOf(async () => write(ring('new')))).toEqual([])
      expect([await deliver('new'), await deliver('old')]).toEqual([200, 401])
    },
  )

  it('warns of each other problem, and again of one that was solved', async () => {
    write(ring('old'))
    const { deliver } = await start()
    const lines = await warningsOf(async () => {
      for (const change of [
        () => fs.rmSync(path),
        () => fs.mkdirSync(path),
        () => fs.rmdirSync(path),
        () => write(ring('old')),
        () => fs.rmSync(path),
      ]) {
        change()
        expect([await deliver('wrong'), await deliver('old')]).toEqual([401, 200])
      }
    })
    const missing = `keyring_invalid: ${path} cannot be read: ENOENT. The last valid keys stay in use.`
    expect(lines).toEqual([missing, expect.stringContaining('is not a file'), missing, missing])
  })

  it.skipIf(IS_WINDOWS)('can be a socket, which the receiver does not open', async () => {
    write(ring('old'))
    const { deliver } = await start()
    fs.rmSync(path)
    const socket = createServer().listen(path)
    onTestFinished(() => void socket.close())
    await once(socket, 'listening')
    expect(() => keyring(path)).toThrow('is not a file')
    const lines = await warningsOf(async () => {
      expect([await deliver('wrong'), await deliver('old')]).toEqual([401, 200])
    })
    expect(lines).toEqual([expect.stringContaining('is not a file')])
  })

  it.each<[string, unknown, string]>([
    ['a missing file', '/nowhere/keys.json', '/nowhere/keys.json cannot be read: ENOENT'],
    ['a folder', '/', '/ is not a file'],
    ['no path', undefined, 'path is missing: the value is undefined'],
    ['an empty path', '', 'path is empty'],
    ['another type', 7, 'path must be a string'],
  ])('is rejected by keyring(): %s', (_, given, message) => {
    expect(() => keyring(given as string)).toThrow(message)
    expect(() => keyring(given as string)).toThrow(WebhookError)
  })

  it('may begin with a byte order mark, and have other members', async () => {
    write(`\ufeff{"version":2,"keys":[{"id":"a","key":"old","from":"2026-11-01"}]}`)
    const { deliver } = await start()
    expect(await deliver('old')).toBe(200)
  })

  it('can be given by a relative path, which stays the same file', async () => {
    write(ring('old'))
    const cwd = process.cwd()
    onTestFinished(() => process.chdir(cwd))
    process.chdir(join(path, '..'))
    const keys = keyring('keys.json')
    process.chdir(cwd)
    expect(keys.path).toBe(fs.realpathSync(path))
    const { deliver } = await start({}, keys)
    replace(ring('new'))
    expect(await deliver('new')).toBe(200)
  })

  it('accepts a key in the file after the process was paused while the file was read', async () => {
    write(ring('new'))
    const receiver = createReceiver({ signatureKey: keyring(path) }).on('*', () => {})
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY, 'newer') }
    replace(ring('newer'))
    const lines = await warningsOf(async () => {
      const response = receiver.fetch(
        new Request('http://localhost/', { method: 'POST', headers, body: BODY }),
      )
      // Blocks the event loop: the timer of the read fires before its result is seen.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_200)
      expect((await response).status).toBe(200)
    })
    expect(lines).toEqual([])
  })

  it('delays deliveries once, for at most two seconds, if a read hangs, and is used when the read ends', async () => {
    write(ring('old'))
    const { deliver, pass } = await start()
    expect(await deliver('old')).toBe(200)
    const { gate, release } = createGate()
    const { readFile } = fs.promises
    const spy = vi.spyOn(fs.promises, 'readFile').mockImplementation(async (file) => {
      await gate
      return readFile(file)
    })
    onTestFinished(() => spy.mockRestore())
    replace(ring('new'))
    pass()
    const lines = await warningsOf(async () => {
      expect(await Promise.all([deliver('old'), deliver('old')])).toEqual([200, 200])
      pass()
      const startedAt = performance.now()
      expect([await deliver('old'), await deliver('wrong')]).toEqual([200, 401])
      expect(performance.now() - startedAt).toBeLessThan(2_000)
    })
    expect(lines).toEqual([expect.stringContaining('cannot be read within 2 seconds')])
    expect(spy).toHaveBeenCalledOnce()
    release()
    await vi.waitFor(async () => expect(await deliver('new')).toBe(200))
    expect(await deliver('old')).toBe(401)
  })

  it.skipIf(IS_WINDOWS).each([
    [0o600, false],
    [0o440, false],
    [0o660, false],
    [0o644, true],
    [0o602, true],
  ])('with the mode %o is accepted; with a warning: %s', async (mode, isExposed) => {
    write(ring('old'))
    fs.chmodSync(path, mode)
    const expected = isExposed ? [expect.stringMatching(/^keyring_exposed: Every user .*keys\.json/)] : []
    let started: Ring | undefined
    expect(
      await warningsOf(async () => {
        started = await start()
        expect(await started.deliver('old')).toBe(200)
      }),
    ).toEqual(expected)
  })
})

describe('stats() of a receiver with a keyring', () => {
  it('list the keys of the file, and keep the counts of keys that stay', async () => {
    write(ring('a', 'b'))
    const { receiver, deliver, pass } = await start()
    for (const key of ['a', 'b', 'b', 'wrong']) await deliver(key)
    const facts = async () =>
      (await receiver.stats()).keys?.map(({ id, matched, lastMatched }) => [
        id,
        matched,
        lastMatched?.getTime(),
      ])
    expect(await facts()).toEqual([
      ['A', 1, 1_000_000],
      ['B', 2, 1_000_000],
    ])
    replace(ring('c', 'b'))
    pass()
    expect(await facts()).toEqual([
      ['C', 0, undefined],
      ['B', 2, 1_000_000],
    ])
    await deliver('b')
    replace('{"keys":[{"id":"renamed","key":"b"},{"id":"A","key":"a"}]}')
    pass()
    expect(await facts()).toEqual([
      ['renamed', 3, 1_001_000],
      ['A', 0, undefined],
    ])
  })

  it('have fingerprints of 16 bits, which observers get too, and no key', async () => {
    write(ring('topsecret'))
    const seen: unknown[] = []
    const { receiver, deliver } = await start({
      observer: { accepted: ({ keyFingerprint }) => seen.push(keyFingerprint) },
    })
    await deliver('topsecret')
    const { keys } = await receiver.stats()
    expect(keys?.[0]?.fingerprint).toMatch(/^[\da-f]{4}$/)
    expect(seen).toEqual([keys?.[0]?.fingerprint])
    expect(JSON.stringify(keys)).not.toContain('topsecret')
  })
})

describe('a keyring', () => {
  it('is explained like a list of its current keys', async () => {
    write(ring('new', 'old'))
    const options: ReceiverOptions = { signatureKey: keyring(path) }
    const causeOf = async (key: string, body = BODY) => {
      const { cause } = await explain({ body, headers: { 'x-service': signatureOf(BODY, key) } }, options)
      return cause
    }
    expect([await causeOf('new'), await causeOf('old')]).toEqual(['ok', 'key_previous'])
    expect(await causeOf('new', `${BODY}\n`)).toBe('body_trailing_newline')
    expect(await causeOf('newest')).not.toBe('ok')
    replace(ring('newest', 'new'))
    expect(await causeOf('newest')).toBe('ok')
  })

  it('is rejected where only keys are allowed', async () => {
    write(ring('old'))
    const keys = keyring(path)
    const invalid = { code: 'config_invalid' }
    await expect(verify({ body: '', signature: '', signatureKey: keys as never })).rejects.toMatchObject(
      invalid,
    )
    for (const signatureKey of [[keys], { path }, {}])
      expect(() => createReceiver({ signatureKey: signatureKey as never })).toThrow(
        expect.objectContaining(invalid),
      )
    const codes: string[] = []
    const observer = { refused: ({ error }: { error: WebhookError }) => codes.push(error.code) }
    for (const given of [keys, { keys, tenant: 't' }]) {
      const receiver = createReceiver({ signatureKey: () => given as never, observer })
      const { url } = await serve(webhook(receiver))
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY, 'old') }
      expect((await send(url, { headers, body: BODY })).status).toBe(401)
    }
    expect(codes).toEqual(['key_unknown', 'key_unknown'])
  })
})
