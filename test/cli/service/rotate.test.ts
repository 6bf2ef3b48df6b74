import { execFileSync } from 'node:child_process'
import fs, {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { createReceiver, type Receiver } from 'geohook'
import type { Product, ProductOptions, Webhook } from 'geohook/mock'
import { webhook as handle, keyring } from 'geohook/node'
import { createSqliteInbox } from 'geohook/sqlite'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { expectNone } from '../../admin/support.ts'
import {
  createFolder,
  geohook,
  parseStdout,
  type Running,
  type RunOptions,
  type RunResult,
  startGeohook,
  startProcess,
  withoutProgress,
} from '../../helpers/cli.ts'
import { base64Of, deliver, FORM_TYPE, JSON_TYPE, payloadOf, signatureOf } from '../../helpers/deliver.ts'
import { createGate } from '../../helpers/gate.ts'
import { send } from '../../helpers/http.ts'
import { serve } from '../../helpers/served.ts'
import { describeWithDisks } from '../../helpers/tmpfs.ts'
import { create, FEATURE, seed } from '../../mock/support.ts'
import { fail, HOUR } from './doctor-support.ts'

const PARCELS = 'Parcels.FeatureServer'
const OLD = { id: '2025-05', key: 'Geheimnis-of-2025' }
const SIG = 'Zm9vYmFy_Flow-Secret'
const TOKEN = 'Geheimnis-of-the-admin'
const HEALTH_TOKEN = 'Geheimnis-of-health'
const ENV = { GEOHOOK_TOKEN: TOKEN, HEALTH_TOKEN, NO_COLOR: '1' }
const FLOW = `http://127.0.0.1:9/flow?sig=${SIG}`
const EDITS = seed(FEATURE, { signatureKey: OLD.key, hookUrl: FLOW, id: 'id-edits', name: 'edits' })
const IS_ROOT = process.getuid?.() === 0
const IS_WINDOWS = process.platform === 'win32'

/** All time passes at once. */
const PASSED: RunOptions = { pace: 0 }
/** No time passes, so that a rotation ends at the first wait. */
const NO_WAIT = ['--wait', '0s']
const NO_SETTLE = ['--settle', '0s', ...NO_WAIT]

interface Key {
  id: string
  key: string
}

interface Setup {
  webhooks?: Webhook[]
  keys?: Key[]
  like?: ProductOptions
  /** Answers requests of the administration before the mock does. */
  before?: (req: IncomingMessage, res: ServerResponse) => unknown
}

const folder = createFolder()
let folders = 0

/** Starts a mock, a receiver with a keyring, and its health address. `run` expects no secret in its output and journal. */
async function start(product: Product = 'service', { webhooks, keys = [OLD], like, before }: Setup = {}) {
  const home = join(folder.path, `${folders++}`)
  mkdirSync(home)
  const path = join(home, 'keys.json')
  const write = (next: readonly Key[], more: object = {}): void =>
    writeFileSync(path, JSON.stringify({ ...more, keys: next }), { mode: 0o600 })
  write(keys)
  const isArcgis = product === 'online'
  const startReceiver = (file = path) =>
    createReceiver({
      profile: isArcgis ? 'arcgis' : 'service',
      signatureKey: keyring(file),
      observer: { refused() {} },
      clock: () => Date.now() + ahead,
    }).on('*', () => {})
  let ahead = 0
  const receivers: Receiver[] = [startReceiver()]
  let asked = 0
  const app = await serve(async (req, res) => {
    if (!req.url?.startsWith('/health')) return handle(receivers[0] as Receiver)(req, res)
    const receiver = receivers[asked++ % receivers.length]
    if (req.headers.authorization !== `Bearer ${HEALTH_TOKEN}`) return res.writeHead(401).end()
    return res.end(JSON.stringify(await receiver?.stats()))
  })
  const ofPortal = { serviceName: 'P1', serviceType: 'Portal' as const, changeTypes: ['/'] }
  const at = isArcgis ? { hookUrl: `${app.url}/hooks/${OLD.id}?sig=${SIG}` } : {}
  const own = product === 'portal' ? seed(EDITS, ofPortal) : seed(EDITS, at)
  const mock = create(webhooks ?? [own], { like: { product, handshake: isArcgis, ...like } })
  const changes: string[] = []
  const { url } = await serve(async (req, res) => {
    if (/\/(?:edit|update)\b/.test(req.url ?? '')) changes.push(req.url ?? '')
    if (!(await before?.(req, res))) mock.app(req, res)
  })
  const service = product === 'portal' ? 'portal' : PARCELS
  const files = () => readdirSync(home).sort()
  const journal = () => JSON.parse(readFileSync(`${path}.rotation`, 'utf8'))
  const secrets = new Set([SIG, TOKEN, HEALTH_TOKEN, ...keys.map(({ key }) => key)])
  const ring = (): Key[] => JSON.parse(readFileSync(path, 'utf8')).keys
  const begin = (args: readonly string[], options: RunOptions = {}): Running =>
    startGeohook(['rotate', ...args, '--url', url, '--product', product], { env: ENV, ...options })
  const end = async (running: Running): Promise<RunResult> => {
    const code = await running.exited
    const [keys, journal] = [path, `${path}.rotation`].map(readText)
    for (const [, key = ''] of (keys ?? '').matchAll(/"key": ?"([^"]+)"/g)) secrets.add(key)
    expectNone(running.output + journal, [...secrets])
    return { code, stdout: running.stdout, stderr: withoutProgress(running.stderr) }
  }
  const run = (args: readonly string[], options?: RunOptions) => end(begin(args, options))
  const RING = ['--keyring', path]
  return {
    home,
    path,
    url,
    app,
    mock,
    receivers,
    startReceiver,
    changes,
    files,
    journal,
    ring,
    write,
    begin,
    end,
    run,
    service,
    hookUrl: (id = '') => `${app.url}/hooks/${id}?sig=${SIG}`,
    health: ['--health', `${app.url}/health`, '--health-token-env', 'HEALTH_TOKEN'],
    /** Begins a rotation of the webhook. */
    rotate: (args: readonly string[] = [], options?: RunOptions) =>
      run([service, 'edits', ...RING, ...args], options),
    /** Continues it. */
    next: (args: readonly string[] = [], options?: RunOptions) =>
      run(['--continue', ...RING, ...args], options),
    back: (args: readonly string[] = [], options?: RunOptions) => run(['--back', ...RING, ...args], options),
    stored: (id = EDITS.id) => mock.snapshot().webhooks.find((one) => one.id === id) as Webhook,
    /** Writes a journal like a process that was killed in this state. */
    killIn: (state: string, more: object = {}) =>
      writeFileSync(`${path}.rotation`, JSON.stringify({ ...journal(), state, ...more })),
    passTime: (milliseconds: number) => {
      ahead += milliseconds
    },
    /** Sends a delivery to the receiver that has this key. */
    deliver: async ({ key }: Key) => {
      const body = payloadOf('FeaturesCreated')
      const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body, key) }
      return (await send(`${app.url}/hook`, { headers, body })).status
    },
  }
}

type Started = Awaited<ReturnType<typeof start>>

/** Expects the end of a rotation: one key, which the webhook has, and no other file. */
function expectOnly({ ring, stored, files }: Started, expected: Partial<Key> = {}): void {
  const [key, ...others] = ring()
  expect(others).toEqual([])
  expect(key).toMatchObject(expected)
  expect(stored().signatureKey).toBe(key?.key)
  expect(files()).toEqual(['keys.json'])
}

const idsOf = (keys: readonly Key[]): string[] => keys.map(({ id }) => id)

const errorIn = ({ stderr }: RunResult): Record<string, string> => JSON.parse(stderr).error

/** True if a payload URL answers a handshake with this key. */
async function hasHandshake(hookUrl: string, key: string): Promise<boolean> {
  const { text } = await send(`${hookUrl}&crc_token=t`, { method: 'GET' })
  return JSON.parse(text).response_token === `sha256=${base64Of('t', key)}`
}

const readText = (path: string): string =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : ''

/** The contents of a folder, with the time and the inode of each file. */
const contentOf = (path: string): unknown =>
  readdirSync(path).map((name) => {
    const { mtimeMs, ino, mode } = statSync(join(path, name))
    return [name, mtimeMs, ino, mode, readText(join(path, name))]
  })

describe('geohook rotate', () => {
  it.each(['service', 'enterprise', 'portal'] as const)(
    'replaces the key of a webhook of %s',
    async (product) => {
      const started = await start(product)
      const { rotate, ring, stored, write, path, service, changes } = started
      write([{ ...OLD, from: '2025' } as Key], { version: 2 })
      const { signatureKey: _key, modified: _at, modifiedId: _by, ...before } = stored()
      const { code, stdout, stderr } = await rotate([], PASSED)
      expect([code, stderr]).toEqual([0, ''])
      expectOnly(started)
      const [{ id, key } = OLD] = ring()
      expect(id).toMatch(/^\d{4}-\d\d-\d\d$/)
      expect(key).toMatch(/^[\da-f]{64}$/)
      expect(JSON.parse(readFileSync(path, 'utf8')).version).toBe(2)
      expect(stored()).toMatchObject(before)
      expect(changes.length).toBe(1)
      expect(stdout.split('\n')).toEqual([
        `${path}: replaces the key ${OLD.id} with ${id}`,
        `  ${service}, edits (id-edits): an edit of the key`,
        `${path}: added the key ${id} in second place`,
        `${path}: ${service}, edits now has the key ${id}`,
        `${path}: removed the key ${OLD.id}`,
        `${path}: done. If the receivers read a copy, replace it now.`,
        '',
      ])
    },
  )

  it('changes the payload URL and the key of a hosted webhook together, without a failing handshake', async () => {
    const answers: boolean[] = []
    const started: Started = await start('online', {
      before: async ({ url = '' }) => {
        if (!url.includes('/edit')) return
        for (const { id, key } of started.ring()) answers.push(await hasHandshake(started.hookUrl(id), key))
      },
    })
    const { rotate, ring, stored, hookUrl, mock, changes, back } = started
    const { code, stdout, stderr } = await rotate(NO_WAIT, PASSED)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('an edit of the payload URL and the key, together')
    expectOnly(started)
    expect(stored().hookUrl).toBe(hookUrl(ring()[0]?.id))
    expect([changes.length, answers]).toEqual([1, [true, true]])
    await vi.waitUntil(() => mock.snapshot().handshakes.length > 0, { timeout: 60_000, interval: 5 })
    expect(mock.snapshot().handshakes).toEqual([{ webhookId: EDITS.id, when: expect.any(Number) }])

    const [{ id } = OLD] = ring()
    expect((await rotate(NO_SETTLE)).code).toBe(4)
    expect(stored().hookUrl).toBe(hookUrl(`${id}-2`))
    expect((await back([], PASSED)).code).toBe(0)
    expectOnly(started, { id })
    expect(stored().hookUrl).toBe(hookUrl(id))
  })

  it('names the gap of a hosted webhook without such a URL, and makes the new key the first before the edit', async () => {
    const orders: string[][] = []
    const started: Started = await start('online', {
      before: ({ url = '' }) => void (url.includes('/edit') && orders.push(idsOf(started.ring()))),
    })
    const { mock, app, rotate, stored, ring, files } = started
    const hookUrl = `${app.url}/hooks/parcels?sig=${SIG}`
    await mock.edit(EDITS.id, { hookUrl })
    const refused = await rotate(['--json'])
    expect([refused.code, errorIn(refused).code]).toEqual([1, 'rotation_refused'])
    expect(errorIn(refused).message).toContain('handshakes, and one that arrives between')
    expect(errorIn(refused).hint).toContain('--accept-handshake-gap')
    expect([idsOf(ring()), files()]).toEqual([[OLD.id], ['keys.json']])
    const { code, stdout } = await rotate(['--accept-handshake-gap'], PASSED)
    expect(code).toBe(0)
    expect(stdout).toContain('a handshake that arrives before the edit can fail')
    expectOnly(started)
    expect(stored().hookUrl).toBe(hookUrl)
    expect(orders).toEqual([[ring()[0]?.id, OLD.id]])
  })

  it('writes each state to the journal before it enters it', async () => {
    const log: string[] = []
    const started: Started = await start('service', {
      before: ({ url = '' }) => void (url.includes('/edit') && log.push('edit')),
    })
    const { rename } = fs.promises
    fs.promises.rename = async (from, to) => {
      const { state, keys } = JSON.parse(readFileSync(String(from), 'utf8'))
      log.push(state ?? keys.map(({ key }: Key) => (key === OLD.key ? 'old' : 'new')).join())
      return rename(from, to)
    }
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.promises.rename = rename
      syncBuiltinESMExports()
    })
    expect((await started.rotate([], PASSED)).code).toBe(0)
    expect(log.join(' ')).toBe('old add old,new settle switch old,new edit new,old prove drain remove new')
  })

  it('prints JSON', async () => {
    const started = await start()
    const { rotate, next, path, url, journal, ring } = started
    const pending = await rotate(['--json', ...NO_WAIT])
    expect([pending.code, pending.stderr]).toEqual([4, ''])
    const [, { id } = OLD] = ring()
    const rotation = {
      keyring: path,
      isBack: false,
      from: OLD.id,
      to: id,
      webhooks: [{ service: PARCELS, id: EDITS.id, name: 'edits' }],
      matched: { [OLD.id]: 0, [`${id}`]: 0 },
      refused: 0,
    }
    const waiting = { what: 'the receivers to read the keyring', until: expect.stringMatching(/Z$/) }
    expect(parseStdout(pending)).toEqual({
      rotations: [{ ...rotation, state: 'settle', isDone: false, waiting }],
    })
    expect(journal()).toEqual({
      url,
      product: 'service',
      state: 'settle',
      since: expect.stringMatching(/Z$/),
      from: OLD.id,
      to: id,
      isBack: false,
      webhooks: rotation.webhooks,
      settle: 60_000,
      expected: 1,
      drain: HOUR,
      receivers: {},
    })
    const done = await next(['--json'], PASSED)
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(parseStdout(done)).toEqual({ rotations: [{ ...rotation, state: 'remove', isDone: true }] })
  })

  it('changes nothing with --dry-run', async () => {
    const started = await start()
    const { rotate, home, mock, changes, next } = started
    const before = contentOf(home)
    const snapshot = mock.snapshot()
    const { code, stdout } = await rotate(['--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /: replaces the key 2025-05 with .*\n {2}Parcels.*: an edit of the key\nnothing was written\n$/,
    )
    expect(parseStdout(await rotate(['--dry-run', '--json'])).rotations).toMatchObject([{ isDone: false }])
    expect([contentOf(home), mock.snapshot(), changes]).toEqual([before, snapshot, []])
    expect((await next(['--dry-run'])).code).toBe(2)
    expect(await next(['--json'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('rotation_missing'),
    })
  })
})

/** How a rotation reaches each state. */
const STATES: [state: string, args: string[], kill?: (started: Started) => unknown][] = [
  [
    'add, before the key was added',
    NO_WAIT,
    ({ killIn, write, ring }) => {
      killIn('add')
      write(ring().slice(0, 1))
    },
  ],
  ['add, after it', NO_WAIT, ({ killIn }) => killIn('add')],
  ['settle', NO_WAIT],
  ['switch, before the edit', NO_WAIT, ({ killIn }) => killIn('switch')],
  [
    'switch, after it',
    NO_WAIT,
    async ({ killIn, mock, ring }) => {
      await mock.edit(EDITS.id, { signatureKey: String(ring()[1]?.key) })
      killIn('switch')
    },
  ],
  ['prove', NO_SETTLE, ({ killIn }) => killIn('prove')],
  ['drain', NO_SETTLE],
  ['remove, before the key was removed', NO_SETTLE, ({ killIn }) => killIn('remove')],
]

describe.each(STATES)('a rotation in the state %s', (state, args, kill) => {
  it('continues, and can go back', async () => {
    const started = await start()
    const { rotate, next, back, journal, ring, stored } = started
    const reach = async (): Promise<string> => {
      expect((await rotate(args)).code).toBe(4)
      await kill?.(started)
      expect(journal().state).toBe(/\w+/.exec(state)?.[0])
      return journal().to
    }
    const id = await reach()
    expect((await next([], PASSED)).code).toBe(0)
    expectOnly(started, { id })

    const [first] = ring()
    await reach()
    expect((await back([], PASSED)).code).toBe(0)
    expectOnly(started, first)
    expect(stored()).toMatchObject({ hookUrl: FLOW, name: 'edits', active: true })
  })
})

describe('an open rotation', () => {
  it('ends with --continue, but cannot go back, after the old key was removed', async () => {
    const { rotate, next, back, ring, killIn, write, files, journal } = await start()
    await rotate(NO_SETTLE)
    killIn('remove')
    write(ring().slice(0, 1))
    const before = journal()
    const refused = await back(['--json'])
    expect([refused.code, errorIn(refused).code]).toEqual([1, 'rotation_over'])
    expect(journal()).toEqual(before)
    expect(await next([], PASSED)).toMatchObject({ code: 0, stdout: expect.not.stringContaining('removed') })
    expect(files()).toEqual(['keys.json'])
  })

  it('names both ways to end it, if another one is to begin', async () => {
    const { rotate, home } = await start()
    await rotate(NO_WAIT)
    const before = contentOf(home)
    const refused = await rotate(['--json'])
    expect([refused.code, errorIn(refused).code]).toEqual([1, 'rotation_open'])
    expect(errorIn(refused).hint).toBe('Finish it with --continue, or go back with --back.')
    expect(contentOf(home)).toEqual(before)
  })

  it('stops at Ctrl-C with 130 while it waits, and says how it continues', async () => {
    const { begin, end, next, path, files, journal, ring } = await start()
    const running = begin([PARCELS, EDITS.id, '--keyring', path])
    await running.printed(/waiting for the receivers to read the keyring, until \S+Z\n/)
    void running.stop()
    const { code, stderr } = await end(running)
    expect(code).toBe(130)
    expect(stderr.split('\n').slice(1)).toEqual([
      `${path}: open in the state settle; no key has been removed`,
      `  geohook rotate --continue --keyring '${path}'  (and the options for the service and --health)`,
      '',
    ])
    expect([journal().state, ring().length, files()]).toEqual([
      'settle',
      2,
      ['keys.json', 'keys.json.rotation'],
    ])
    expect((await next([], PASSED)).code).toBe(0)
  })

  it('completes an edit in flight at Ctrl-C', async () => {
    const { gate, release } = createGate()
    const begun = createGate()
    const started: Started = await start('service', {
      async before({ url = '' }) {
        if (!url.includes('/edit')) return
        begun.release()
        await gate
      },
    })
    const { begin, end, next, path, journal, ring, stored } = started
    const running = begin([PARCELS, EDITS.id, '--keyring', path], PASSED)
    await begun.gate
    expect(journal().state).toBe('switch')
    void running.stop()
    release()
    expect((await end(running)).code).toBe(130)
    expect([journal().state, stored().signatureKey]).toEqual(['prove', ring()[0]?.key])
    expect((await next([], PASSED)).code).toBe(0)
    expectOnly(started)
  })

  it('is locked for other processes, ends with 130 at SIGINT, and ignores the lock of a dead process', async () => {
    const { rotate, next, service, url, path, files } = await start()
    const args = ['rotate', service, 'edits', '--keyring', path, '--url', url, '--product', 'service']
    const other = startProcess(args, { env: ENV })
    await other.printed(/waiting for the receivers/)
    const { pid } = other.child
    const lock = files().find((name) => name.endsWith('.lock'))
    for (const run of [rotate, next])
      expect(await run()).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`keys.json is in use by process ${pid}\n`),
      })
    expect(await other.stop('SIGINT')).toBe(130)
    expect(other.stderr.split('\n').map((line) => line.replace(path, ''))).toEqual([
      expect.stringContaining(': waiting for the receivers'),
      ': open in the state settle; no key has been removed',
      expect.stringContaining('geohook rotate --continue --keyring'),
      '',
    ])
    expect(files()).toEqual(['keys.json', 'keys.json.rotation'])
    expect(lock).toContain(`keys.json.${pid}-`)
    writeFileSync(join(path, '..', `${lock}`), '')
    expect((await next([], PASSED)).code).toBe(0)
    expect(files()).toEqual(['keys.json'])
  })

  it('does not continue without the new key, but goes back', async () => {
    const started = await start()
    const { rotate, next, back, ring, write, journal } = started
    await rotate(NO_WAIT)
    write(ring().slice(0, 1))
    const failed = await next(['--json'], PASSED)
    expect([failed.code, errorIn(failed).code, journal().state]).toEqual([1, 'rotation_failed', 'settle'])
    expect((await back([], PASSED)).code).toBe(0)
    expectOnly(started, OLD)
  })

  it.each([
    ['is not active', { active: false }, 'is no longer active'],
    ['has another key', { signatureKey: 'Geheimnis-of-another' }, 'does not have the key'],
  ])('does not remove the old key if the webhook %s', async (_, changes, problem) => {
    const { rotate, next, mock, killIn, ring, journal } = await start()
    await rotate(NO_SETTLE)
    killIn('prove')
    await mock.edit(EDITS.id, changes)
    const failed = await next(['--json'], PASSED)
    expect([failed.code, errorIn(failed).message]).toEqual([1, expect.stringContaining(problem)])
    const state = 'active' in changes ? 'prove' : 'switch'
    expect([ring().length, journal().state]).toEqual([2, state])
  })

  it('is rejected if its journal is invalid', async () => {
    const { rotate, next, back, home, path } = await start()
    for (const [text, run] of [
      ['', rotate],
      ['{"state":"add"', next],
      ['[]', back],
      ['{"state":"gone","webhooks":[]}', next],
      ['{"state":"settle"}', next],
    ] as const) {
      writeFileSync(`${path}.rotation`, text)
      const before = contentOf(home)
      const refused = await run(['--json'])
      expect([text, refused.code, errorIn(refused).code]).toEqual([text, 2, 'journal_invalid'])
      expect(contentOf(home)).toEqual(before)
    }
  })

  it('belongs to one site', async () => {
    const { rotate, path } = await start()
    await rotate(NO_WAIT)
    const other = await start()
    const refused = await other.run(['--continue', '--keyring', path])
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the rotation belongs to http'),
    })
  })
})

interface Refusal extends Setup {
  product?: Product
  args?: string[]
  code?: number
  prepare?: (started: Started) => unknown
}

const another = (key: string): Key => ({ id: key, key: `Geheimnis-${key}` })
const WITH_OTHER_PATH = seed(EDITS, { hookUrl: `http://127.0.0.1:9/hooks/${OLD.id}?sig=${SIG}` })

/** Setups by the error that each leads to. */
const REFUSALS: [error: string, problem: RegExp, setup: Refusal][] = [
  ['rotation_refused', /is not active/, { webhooks: [seed(EDITS, { active: false })] }],
  ['rotation_refused', /has no key/, { webhooks: [seed(EDITS, { signatureKey: '' })] }],
  ['rotation_refused', /does not have the first key/, { keys: [another('new'), OLD] }],
  ['rotation_refused', /does not show its key/, { like: { keys: 'hidden' } }],
  ['rotation_refused', /does not show its key/, { like: { keys: 'masked' } }],
  [
    'rotation_refused',
    /has a failed delivery, at \d/,
    { prepare: ({ mock }) => fail(mock, EDITS.id, HOUR / 2) },
  ],
  [
    'rotation_refused',
    /has 100 keys already/,
    { keys: [OLD, ...Array.from({ length: 99 }, (_, index) => another(`${index}`))] },
  ],
  [
    'handshake_failed',
    /does not respond to the handshake/,
    { product: 'online', webhooks: [WITH_OTHER_PATH] },
  ],
  [
    'rotation_refused',
    /--url was not recognized as ArcGIS Online/,
    { product: 'service', webhooks: [WITH_OTHER_PATH] },
  ],
  ['admin_not_found', /has no webhook other/, { args: [PARCELS, 'edits', 'other'] }],
  [
    'admin_not_found',
    /has no webhooks/,
    { prepare: ({ mock }) => mock.delete(EDITS.id), args: [PARCELS, '--all'] },
  ],
  [
    'health_failed',
    /returned the stats\(\) of 0 receivers with/,
    { args: ['--health', 'http://127.0.0.1:9/'] },
  ],
  [
    'rotation_refused',
    /b also has the first key/,
    { webhooks: [EDITS, seed(EDITS, { id: 'id-b', name: 'b' })] },
  ],
  [
    'keyring_exposed',
    /every user of this machine can read/,
    { prepare: ({ path }) => chmodSync(path, 0o604) },
  ],
  ['keyring_exposed', /or change/, { prepare: ({ path }) => chmodSync(path, 0o602) }],
  ['keyring_invalid', /must be JSON/, { code: 2, prepare: ({ path }) => writeFileSync(path, '{') }],
  [
    'rotation_refused',
    /has 2 hard links/,
    { prepare: ({ path, home }) => linkSync(path, join(home, 'link')) },
  ],
  ['usage', /--receivers requires --health/, { code: 2, args: ['--receivers', '2'] }],
  ['usage', /cannot read .*: no such file/, { code: 2, prepare: ({ path }) => rmSync(path) }],
  [
    'usage',
    /cannot write .*keys\.json: \S/,
    { code: 2, prepare: ({ path }) => mkdirSync(`${path}-geohook-part`) },
  ],
]

describe('geohook rotate refuses, and writes nothing', () => {
  it.each(REFUSALS)('%s, %s', async (error, problem, { product, args, code = 1, prepare, ...setup }) => {
    const started = await start(product, setup)
    const { mock, home, changes, path, run } = started
    await prepare?.(started)
    const before = contentOf(home)
    const snapshot = mock.snapshot()
    const target = args?.[0] === PARCELS ? args : [started.service, 'edits', ...(args ?? [])]
    const refused = await run([...target, '--keyring', path, '--json'])
    expect([refused.code, refused.stdout, errorIn(refused).code]).toEqual([code, '', error])
    expect(errorIn(refused).message).toMatch(problem)
    expect([contentOf(home), mock.snapshot(), changes]).toEqual([before, snapshot, []])
  })

  it('a health address with a wrong token, with too few receivers, or of another keyring with the same ids', async () => {
    const { rotate, health, home, app, startReceiver, receivers } = await start()
    const before = contentOf(home)
    const other = folder.file(
      'other-keys.json',
      JSON.stringify({ keys: [{ ...OLD, key: 'Geheimnis-else' }] }),
    )
    chmodSync(other, 0o600)
    expect((await rotate([...health, '--dry-run'])).code).toBe(0)
    const wrong = await rotate([
      '--health',
      `${app.url}/health`,
      '--health-token-env',
      'GEOHOOK_TOKEN',
      '--json',
    ])
    expect([wrong.code, errorIn(wrong).code]).toEqual([1, 'health_failed'])
    const few = await rotate([...health, '--receivers', '2', '--json'])
    expect([few.code, errorIn(few).message]).toEqual([1, expect.stringContaining('of 1 receiver with')])
    receivers[0] = startReceiver(other)
    const elsewhere = await rotate([...health, '--json'])
    expect([elsewhere.code, errorIn(elsewhere).code]).toEqual([1, 'health_failed'])
    expect(contentOf(home)).toEqual(before)
  })

  it.each([
    [[PARCELS, 'edits'], /give --keyring or --from/],
    [[PARCELS, '--keyring', 'k'], /give a service, and either webhooks or --all/],
    [[PARCELS, 'edits', '--all', '--keyring', 'k'], /give a service, and either webhooks or --all/],
    [['--keyring', 'k'], /give a service/],
    [[PARCELS, 'edits', '--continue', '--keyring', 'k'], /the open rotation already names the webhooks/],
    [[PARCELS, 'edits', '--from', 'f'], /the file in --from already names the webhooks/],
    [['--continue', '--back', '--keyring', 'k'], /--back cannot be used with --continue/],
    [['--step', 'switch', '--back', '--keyring', 'k'], /--back cannot be used with --continue or --step/],
    [['--step', 'remove', '--compromised', '--keyring', 'k'], /--step cannot be used with --compromised/],
    [['--back', '--compromised', '--keyring', 'k'], /--back would keep the compromised key/],
    [[PARCELS, 'edits', '--keyring', 'k', '--since', '7d'], /--since requires --compromised/],
    [[PARCELS, 'edits', '--keyring', 'k', '--step', 'prove'], /Allowed choices are add, switch, remove/],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await geohook(['rotate', ...args, '--url', 'http://127.0.0.1:9'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
  })

  it('neither failures of long ago or before the last edit, nor any failure of a compromised key', async () => {
    const { rotate, mock } = await start()
    fail(mock, EDITS.id, 2 * HOUR)
    expect((await rotate(['--dry-run'])).code).toBe(0)
    fail(mock, EDITS.id, HOUR / 2)
    expect((await rotate(['--dry-run'])).code).toBe(1)
    expect((await rotate(['--dry-run', '--compromised'])).code).toBe(0)
    await mock.edit(EDITS.id, { active: true })
    fail(mock, EDITS.id, HOUR / 2)
    expect((await rotate(['--dry-run'])).code).toBe(0)
  })
})

describe('geohook rotate --step', () => {
  it('does one step each, for a copy of the file that another program stores', async () => {
    const started = await start()
    const { rotate, next, ring, stored, journal, run, path, write } = started
    const added = await rotate(['--step', 'add'])
    expect([added.code, added.stderr]).toEqual([0, ''])
    expect(added.stdout).toContain(
      'now store this file where the receivers read it. When each of them has it',
    )
    const [, key] = ring()
    expect([idsOf(ring())[0], journal().state, stored().signatureKey]).toEqual([OLD.id, 'add', OLD.key])
    expect(await next([], PASSED)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run --step switch'),
    })
    expect((await rotate(['--step', 'add'])).code).toBe(0)
    expect((await run([PARCELS, 'other', '--keyring', path, '--step', 'add'])).code).toBe(1)

    const step = (name: string, options: RunOptions) => run(['--step', name, '--keyring', path], options)
    const early = await step('remove', PASSED)
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('run --step switch') })
    expect([stored().signatureKey, ring().length]).toEqual([OLD.key, 2])
    const switched = await step('switch', PASSED)
    expect([switched.code, switched.stderr]).toEqual([0, ''])
    expect(switched.stdout).toContain('the first key answers handshakes. Then run --step remove.')
    expect([ring()[0], ring().length, journal().state]).toEqual([key, 2, 'prove'])
    expect(stored().signatureKey).toBe(key?.key)
    expect(await step('switch', PASSED)).toMatchObject({ code: 0, stderr: '' })

    write([...ring(), another('by-hand')])
    const removed = await step('remove', PASSED)
    expect([removed.code, removed.stderr]).toEqual([0, ''])
    expect(idsOf(ring())).toEqual([key?.id, 'by-hand'])
    expect(await next([], PASSED)).toMatchObject({ code: 1 })
  })
})

describe('changes by others during a rotation', () => {
  it.each<[what: string, state: string, change: (started: Started, key: Key | undefined) => unknown]>([
    ['the webhook gets the old key', 'switch', ({ mock }) => mock.edit(EDITS.id, { signatureKey: OLD.key })],
    [
      'another webhook gets the old key',
      'remove',
      ({ mock, hookUrl }) => {
        const members = { serviceName: 'Parcels', serviceType: 'FeatureServer', name: 'b' } as const
        return mock.create({ ...members, hookUrl: hookUrl(), signatureKey: OLD.key, changeTypes: ['*'] })
      },
    ],
    ['the webhook is deactivated', 'remove', ({ mock }) => mock.edit(EDITS.id, { active: false })],
    [
      'another key takes the place of the new one',
      'switch',
      ({ write }, key) => write([another('x'), OLD, { ...another('y'), id: key?.id ?? '' }]),
    ],
  ])('keep both keys if %s before the removal', async (_, state, change) => {
    const started = await start()
    const { rotate, next, ring, journal } = started
    expect((await rotate(NO_SETTLE)).code).toBe(4)
    await change(started, ring()[0])
    const before = ring()
    const failed = await next([], PASSED)
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('error:') })
    expect([ring(), journal().state]).toEqual([before, state])
  })

  it('keep a key that was added to the file while it waits', async () => {
    const { begin, end, ring, write, path, service } = await start()
    const running = begin([service, 'edits', '--keyring', path, '--settle', '1h', '--wait', '2h'], {
      pace: 0.0005,
    })
    await running.printed(/waiting for the receivers to read the keyring/)
    write([...ring(), another('by-hand')])
    expect(await end(running)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was changed during the rotation'),
    })
    expect(idsOf(ring())).toContain('by-hand')
  })

  it('keep the key of the webhook if the file without the new key is put back', async () => {
    const { begin, end, write, path, service, stored } = await start()
    const running = begin([service, 'edits', '--keyring', path, '--settle', '1h', '--wait', '2h'], {
      pace: 0.0005,
    })
    await running.printed(/waiting for the receivers to read the keyring/)
    write([OLD])
    expect((await end(running)).code).toBe(1)
    expect(stored().signatureKey).toBe(OLD.key)
  })

  it('are not mistaken for another product or address, in which the webhooks are missing', async () => {
    const { rotate, next, ring, killIn } = await start()
    await rotate(NO_WAIT)
    killIn('settle', { product: 'enterprise' })
    const other = await next([], PASSED)
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Give the same --url and --product.'),
    })
    expect(ring().length).toBe(2)
  })
})

it('goes back once, however often --back is repeated', async () => {
  const started = await start()
  await started.rotate(NO_SETTLE)
  expect((await started.back(NO_WAIT)).code).toBe(4)
  expect((await started.next(['--compromised'])).code).toBe(2) // it would keep the compromised key
  expect((await started.back([], PASSED)).code).toBe(0)
  expectOnly(started, OLD)
})

it('skips a webhook that was deleted during the rotation, but not all of them', async () => {
  const webhooks = [EDITS, webhookOf('b')]
  const { rotate, run, next, mock, files, ring, path, service } = await start('service', { webhooks })
  await rotate(['b', ...NO_WAIT])
  await mock.delete(EDITS.id)
  const { code, stdout } = await next([], PASSED)
  expect([code, ring().length, files()]).toEqual([0, 1, ['keys.json']])
  expect(stdout.match(/edits no longer exists\n/g)).toHaveLength(1)

  await run([service, 'b', '--keyring', path, ...NO_WAIT])
  await mock.delete('id-b')
  const failed = await next([], PASSED)
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('shows none of the webhooks') })
  expect(ring().length).toBe(2)
})

const webhookOf = (name: string, changes: Partial<Webhook> = {}): Webhook =>
  seed(EDITS, { id: `id-${name}`, name, ...changes })

describe('several webhooks of one keyring', () => {
  it('keep the keys that they have if an edit fails, and the old key is removed after the last', async () => {
    let isBroken = true
    const webhooks = ['a', 'b', 'c'].map((name) => webhookOf(name))
    const states: unknown[] = []
    const started: Started = await start('service', {
      webhooks,
      before({ url = '' }, res) {
        if (!url.includes('/edit')) return false
        states.push([started.journal().state, started.ring().length])
        if (!isBroken || !url.includes('/id-b/')) return false
        return res.end(JSON.stringify({ error: { code: 400, message: `no ${OLD.key}` } }))
      },
    })
    const { run, next, back, ring, journal, path, mock, changes } = started
    const keys = () => mock.snapshot().webhooks.map(({ signatureKey }) => signatureKey)
    const failed = await run([PARCELS, 'a', 'id-b', 'c', '--keyring', path, '--json'], PASSED)
    expect([failed.code, errorIn(failed).code, journal().state]).toEqual([1, 'admin_refused', 'switch'])
    expect(parseStdout(failed).rotations).toMatchObject([{ state: 'switch', isDone: false }])
    const [first, added] = ring()
    expect([first, keys()]).toEqual([OLD, [added?.key, OLD.key, OLD.key]])
    isBroken = false
    expect((await back([], PASSED)).code).toBe(0)
    expect([ring(), keys()]).toEqual([[OLD], [OLD.key, OLD.key, OLD.key]])

    isBroken = true
    expect((await run([PARCELS, '--all', '--keyring', path], PASSED)).code).toBe(1)
    isBroken = false
    changes.length = 0
    expect((await next([], PASSED)).code).toBe(0)
    const [key] = ring()
    expect([ring().length, keys()]).toEqual([1, [key?.key, key?.key, key?.key]])
    expect(changes.map((path) => /id-\w/.exec(path)?.[0])).toEqual(['id-b', 'id-c'])
    expect(new Set(states.map(String))).toEqual(new Set(['switch,2']))
  })
})

describe('geohook rotate --from', () => {
  it('rotates each keyring of a file with webhooks, also of one with an earlier name', async () => {
    const other = another('2024-01')
    const webhooks = [
      webhookOf('a'),
      webhookOf('b', { signatureKey: other.key }),
      webhookOf('c'),
      webhookOf('d', { signatureKey: 'Geheimnis-of-env' }),
    ]
    const { run, home, url, ring, path, mock, files } = await start('service', { webhooks })
    const file = folder.file(
      'webhooks.json',
      JSON.stringify({
        site: url,
        services: {
          [PARCELS]: [
            { name: 'renamed', was: 'a', hookUrl: FLOW, key: { keyring: `${basename(home)}/keys.json` } },
            { name: 'b', hookUrl: FLOW, key: { keyring: `${basename(home)}/other.json` } },
            { name: 'c', hookUrl: FLOW, key: { keyring: path } },
            { name: 'd', hookUrl: FLOW, key: { env: 'D_KEY' } },
          ],
        },
      }),
    )
    const second = join(home, 'other.json')
    writeFileSync(second, JSON.stringify({ keys: [other] }), { mode: 0o600 })
    const keysOf = () => mock.snapshot().webhooks.map(({ signatureKey }) => signatureKey)

    expect((await run(['--from', file, '--health', 'http://127.0.0.1:9'])).code).toBe(2)
    expect((await run(['--from', file, '--keyring', 'elsewhere.json'])).code).toBe(2)
    const pending = await run(['--from', file, ...NO_WAIT])
    expect(pending.code).toBe(4)
    expect(pending.stderr.match(/: open in the state settle/g)?.length).toBe(2)
    expect(files().length).toBe(4)
    const one = await run(['--continue', '--from', file, '--keyring', second, '--json'], PASSED)
    expect([one.code, parseStdout(one).rotations.length]).toEqual([0, 1])
    expect([keysOf()[0], keysOf()[1] === other.key]).toEqual([OLD.key, false])
    expect((await run(['--continue', '--from', file], PASSED)).code).toBe(0)
    expect(files()).toEqual(['keys.json', 'other.json'])
    const [key] = ring()
    const [{ key: secondKey }] = JSON.parse(readFileSync(second, 'utf8')).keys
    expect(keysOf()).toEqual([key?.key, secondKey, key?.key, 'Geheimnis-of-env'])
    expectNone(pending.stdout + pending.stderr + one.stdout, [secondKey])
  })

  it.skipIf(IS_WINDOWS)('rotates a keyring once that the file names in two ways', async () => {
    const { run, home, url, path, ring, mock, files } = await start('service', {
      webhooks: [webhookOf('a'), webhookOf('b')],
    })
    const link = join(home, 'link.json')
    symlinkSync('keys.json', link)
    const services = {
      [PARCELS]: [
        { name: 'a', hookUrl: FLOW, key: { keyring: path } },
        { name: 'b', hookUrl: FLOW, key: { keyring: link } },
      ],
    }
    const file = folder.file('links.json', JSON.stringify({ site: url, services }))
    for (const more of [[], ['--keyring', link]]) {
      expect((await run(['--from', file, ...more], PASSED)).code).toBe(0)
      const [key, ...others] = ring()
      expect([others, files()]).toEqual([[], ['keys.json', 'link.json']])
      expect(mock.snapshot().webhooks.map(({ signatureKey }) => signatureKey)).toEqual([key?.key, key?.key])
    }
  })

  it('names a webhook that does not exist', async () => {
    const { run, url, path } = await start()
    const services = { [PARCELS]: [{ name: 'new', hookUrl: FLOW, key: { keyring: path } }] }
    const file = folder.file('new.json', JSON.stringify({ site: url, services }))
    const refused = await run(['--from', file, '--json'])
    expect([refused.code, errorIn(refused).code]).toEqual([1, 'admin_not_found'])
    expect(errorIn(refused).hint).toBe('Apply the file first.')
  })
})

/** Lets a test move the monotonic clock, by which the client stops looking for a change. */
function useManualTime(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** After a lost edit, lets ten minutes pass with each request. */
function skipTime(lost: number): false {
  if (lost > 0) vi.advanceTimersByTime(600_000)
  return false
}

describe('a lost response to the edit', () => {
  it('is not missed if the key is shown', async () => {
    const started = await start()
    started.mock.faults.add({ fault: 'admin_answer_lost', times: 1 })
    expect((await started.rotate([], PASSED)).code).toBe(0)
    expectOnly(started)
    expect(started.changes.length).toBe(1)
  })

  it.each(['shown', 'hidden'] as const)(
    'is repeated if the service does not show the change, at most twice; keys are %s',
    async (keys) => {
      const forms: string[] = []
      let isLost = true
      const started: Started = await start('service', {
        like: { keys },
        async before(req) {
          if (!isLost || !req.url?.includes('/edit')) return skipTime(forms.length)
          const parts: Buffer[] = []
          for await (const part of req) parts.push(part)
          forms.push(Buffer.concat(parts).toString())
          req.socket.destroy()
          return true
        },
      })
      const { rotate, next, health, journal, ring, passTime, deliver } = started
      useManualTime()
      passTime(-HOUR)
      expect((await rotate([...health, ...NO_WAIT])).code).toBe(4)
      passTime(1_000)
      const failed = await next([...health, '--json', '--wait', '9999h'])
      expect([failed.code, errorIn(failed).code, journal().state]).toEqual([1, 'admin_unknown', 'switch'])
      expect([forms.length, new Set(forms).size, ring().length]).toEqual([3, 1, 2])
      const [, key] = ring() as [Key, Key]
      expect(new URLSearchParams(forms[0]).get('signatureKey')).toBe(key.key)
      isLost = false
      expect((await next([...health, '--json', ...NO_WAIT])).code).toBe(4)
      expect(journal().state).toBe(keys === 'shown' ? 'drain' : 'prove')
      expect(await deliver(key)).toBe(200)
      expect((await next(health, PASSED)).code).toBe(0)
      expectOnly(started)
    },
  )
})

describe('geohook rotate --health', () => {
  it('waits until each receiver has the new key, also behind a load balancer', async () => {
    const { begin, end, next, health, home, path, ring, receivers, startReceiver, passTime, service } =
      await start()
    const copy = join(home, 'copy.json')
    const copyRing = (): void => writeFileSync(copy, readFileSync(path), { mode: 0o600 })
    copyRing()
    receivers.push(startReceiver(copy))
    const running = begin(
      [service, 'edits', '--keyring', path, ...health, '--receivers', '2', '--wait', '9999h'],
      {
        pace: 0.001,
      },
    )
    await running.printed(/: waiting for all receivers to have the key \S+: 0 of 2 receivers\n/)
    passTime(1_000)
    await running.printed(/: 1 of 2 receivers\n/)
    copyRing()
    passTime(1_000)
    await running.printed(/has the key/)
    await running.printed(/waiting for the end of retries that the key 2025-05 signed, until/)
    void running.stop()
    expect((await end(running)).code).toBe(130)
    receivers.pop()
    passTime(-HOUR)
    const absent = await next([...health, '--receivers', '2'], PASSED)
    expect(absent.stderr).toContain('waiting for all receivers to respond: 1 of 2 receivers')
    expect([absent.code, ring().length]).toEqual([4, 2])
    expect((await next([...health, '--receivers', '1'], PASSED)).code).toBe(0)
  })

  it('proves a hidden key with a delivery, and lets the old key go an hour after its last one', async () => {
    const started = await start('service', { like: { keys: 'hidden' } })
    const { rotate, next, health, ring, deliver, passTime, journal } = started
    expect(await deliver(OLD)).toBe(200)
    expect((await rotate([...health, ...NO_WAIT])).code).toBe(4)
    passTime(1_000)
    expect(await deliver(OLD)).toBe(200)
    const [, key] = ring() as [Key, Key]
    expect(await deliver(key)).toBe(200) // before the switch, so it proves nothing
    const proving = await next([...health, ...NO_WAIT])
    expect([proving.code, proving.stderr]).toEqual([
      4,
      expect.stringContaining(`waiting for a delivery that the key ${key.id} verifies\n`),
    ])
    expect(journal().state).toBe('prove')
    expect(await next(NO_WAIT)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('began with --health'),
    })

    passTime(1_000)
    expect(await deliver(key)).toBe(200)
    expect(await deliver(another('wrong'))).toBe(401)
    passTime(HOUR / 2)
    expect(await deliver(OLD)).toBe(200)
    const draining = await next([...health, '--json', ...NO_WAIT])
    const { state, waiting, matched, refused } = parseStdout(draining).rotations[0]
    expect([draining.code, state, refused]).toEqual([4, 'drain', 1])
    expect(matched).toEqual({ [OLD.id]: 2, [key.id]: 2 })
    expect(waiting.what).toBe('the end of retries that the key 2025-05 signed')
    expect(Date.parse(waiting.until) - Date.parse(journal().matchedAt)).toBe(HOUR)
    expect(Date.parse(journal().matchedAt)).toBeLessThanOrEqual(Date.now()) // the receiver's clock is ahead

    passTime(-HOUR)
    expect((await next(['--json', ...health, ...NO_WAIT])).code).toBe(4)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * HOUR })
    onTestFinished(() => void vi.useRealTimers())
    const done = await next(health)
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        `during the rotation, the receivers verified 2 deliveries with ${OLD.id} and 2 deliveries with ${key.id}, and refused 1 request\n`,
      ),
    })
    expectOnly(started, key)
  })
})

describe('the file of a keyring', () => {
  it.skipIf(IS_WINDOWS)('keeps its mode, its owner and the symbolic link to it', async () => {
    const { run, path, home, files, service } = await start()
    chmodSync(path, 0o640)
    if (IS_ROOT) chownSync(path, 1, 2)
    const link = join(home, 'link.json')
    symlinkSync('keys.json', link)
    expect((await run([service, 'edits', '--keyring', link, ...NO_WAIT])).code).toBe(4)
    expect(files()).toEqual(['keys.json', 'keys.json.rotation', 'link.json'])
    expect(statSync(`${path}.rotation`).mode & 0o777).toBe(0o600)
    expect((await run(['--continue', '--keyring', path], PASSED)).code).toBe(0)
    const { mode, uid, gid } = statSync(path)
    expect([mode & 0o777, lstatSync(link).isSymbolicLink()]).toEqual([0o640, true])
    if (IS_ROOT) expect([uid, gid]).toEqual([1, 2])
  })

  it('can have 99 keys, and ids of today', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const others = Array.from({ length: 97 }, (_, index) => another(`${index}`))
    const taken = [today, `${today}-2`].map(another)
    const { rotate, ring } = await start('service', { keys: [OLD, ...others, ...taken].slice(0, 99) })
    expect((await rotate([], PASSED)).code).toBe(0)
    expect(ring().length).toBe(99)
    expect(new Set(idsOf(ring())).size).toBe(99)
  })
})

await describeWithDisks(() => {
  it('a keyring that is mounted by itself is overwritten, and complete again after a kill meanwhile', async () => {
    const started = await start()
    const { home, path, rotate, next, files, ring, mock } = started
    const own = folder.file('mounted.json', readFileSync(path))
    chmodSync(own, 0o600)
    execFileSync('mount', ['--bind', own, path], { stdio: 'pipe' })
    onTestFinished(() => void execFileSync('umount', [path], { stdio: 'pipe' }))
    const { ino } = statSync(path)
    const pending = await rotate(NO_WAIT)
    expect([pending.code, statSync(path).ino]).toEqual([4, ino])
    expect(pending.stderr).toContain('keys.json is mounted by itself, so it was overwritten, not replaced\n')
    expect(JSON.parse(readFileSync(own, 'utf8')).keys).toEqual(ring())
    expect(files()).toEqual(['keys.json', 'keys.json.rotation'])

    const whole = readFileSync(path)
    writeFileSync(join(home, 'keys.json-geohook-part'), whole, { mode: 0o600 })
    truncateSync(path, 40)
    expect((await next([], PASSED)).code).toBe(0)
    expect([ring().length, mock.snapshot().webhooks[0]?.signatureKey]).toEqual([1, ring()[0]?.key])
    expect([files(), statSync(path).ino]).toEqual([['keys.json'], ino])
  })
})

describe('geohook rotate --compromised', () => {
  it('removes the old key at once, and says what the receivers then refuse', async () => {
    const started = await start()
    const { rotate, health, deliver, passTime, receivers } = started
    passTime(-HOUR)
    await deliver(OLD)
    passTime(1_000)
    const [{ instance } = { instance: '' }] = await Promise.all(receivers.map((one) => one.stats()))
    const waiting = await rotate([...health, '--compromised', ...NO_WAIT])
    expect([waiting.code, waiting.stderr]).toEqual([4, expect.stringContaining('0 of 1 receiver')])
    expect(waiting.stdout).toContain(
      `will refuse retries and deliveries in flight that the key ${OLD.id} signed\n`,
    )
    expect(waiting.stdout).toContain(
      `the receiver ${instance} has verified 1 delivery with it\n  the last one at 20`,
    )
    passTime(1_000)
    const { code, stdout } = await started.next([...health, '--compromised'])
    expect(code).toBe(0)
    expect(stdout).toContain('refused 0 requests')
    expectOnly(started)
  })

  it.each(['prove', 'drain'])('also ends a rotation in the state %s at once', async (state) => {
    const started = await start()
    const { rotate, next, killIn } = started
    await rotate(NO_SETTLE)
    killIn(state)
    expect((await next(['--compromised', ...NO_WAIT])).code).toBe(0)
    expectOnly(started)
  })

  it('works without --health and with hidden keys', async () => {
    const started = await start('service', { like: { keys: 'hidden' } })
    expect((await started.rotate(['--compromised'])).code).toBe(0)
    expectOnly(started)
  })

  it('lists the deliveries in an inbox that the old key has verified', { tags: ['sqlite'] }, async () => {
    const { rotate, next, killIn, write, home, ring, files } = await start()
    const store = join(home, 'inbox.db')
    const inbox = createSqliteInbox({ path: store })
    let now = Date.now() - 2 * 24 * HOUR
    const clock = () => now
    const signatureKey = [OLD.key, another('else').key]
    const service = createReceiver({ signatureKey, inbox, clock })
    const arcgis = createReceiver({ profile: 'arcgis', signatureKey, inbox, clock })
    const portal = createReceiver({ profile: 'portal', signatureKey, inbox, clock })
    /** Stores a delivery whose change type says how it was signed. */
    const add = async (
      receiver: Receiver,
      name: string,
      headers: (body: string) => Record<string, string>,
    ) => {
      const body = payloadOf(name)
      const form = `payload=${encodeURIComponent(body)}`
      const text = name.startsWith('Form') ? form : body
      const type = name.startsWith('Form') ? FORM_TYPE : JSON_TYPE
      const { status } = await deliver(receiver, text, { 'content-type': type, ...headers(text) })
      expect([name, status]).toEqual([name, 202])
    }
    const hex = (key: string) => (body: string) => ({ 'x-service': signatureOf(body, key) })
    const hosted = (key: string) => (body: string) => ({
      'x-service': '',
      'x-esrihook-signature': `sha256=${base64Of(body, key)}`,
    })
    await add(service, 'JsonOldTooEarly', hex(OLD.key))
    now = Date.now()
    await add(service, 'JsonOld', hex(OLD.key))
    await add(service, 'FormOld', hex(OLD.key))
    await add(arcgis, 'HostedOld', hosted(OLD.key))
    await add(arcgis, 'FormHostedOld', hosted(OLD.key))
    for (const [receiver, name, sign] of [
      [service, 'JsonElse', hex],
      [service, 'FormElse', hex],
      [arcgis, 'HostedElse', hosted],
    ] as const)
      await add(receiver, name, sign(another('else').key))
    await add(portal, 'PortalOld', () => ({ secret: OLD.key }))
    await inbox.close()

    const args = ['--compromised', '--since', '1d', '--json']
    const withStore = [...args, '--store', store]
    for (const more of [[], ['--store', join(home, 'missing', 'inbox.db')]])
      expect((await rotate([...args, ...more])).code).toBe(2)
    expect(files().filter((name) => name.startsWith('keys'))).toEqual(['keys.json'])
    const done = await rotate([...withStore, '--settle', '0s'])
    expect([done.code, done.stderr]).toEqual([0, ''])
    const listOf = (result: RunResult): unknown[] =>
      parseStdout(result).verified.map((one: Record<string, unknown>) => [one.changeTypes, one.isCertain])
    expect(listOf(done)).toEqual([
      [['PortalOld'], false],
      [['FormHostedOld'], true],
      [['HostedOld'], true],
      [['FormOld'], true],
      [['JsonOld'], true],
    ])
    expect(ring().length).toBe(1)

    await rotate(NO_SETTLE)
    killIn('remove')
    write(ring().slice(0, 1))
    const removed = await next(withStore)
    expect([removed.code, removed.stderr]).toEqual([0, ''])
    // Without the key, any of them may have been verified with it.
    expect(listOf(removed).map((one) => (one as unknown[])[1])).toEqual(Array(8).fill(false))
  })
})
