import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSigner } from 'geohook/testing'
import { Client } from 'pg'
import { afterAll, expect, inject, it, onTestFinished, vi } from 'vitest'
import { until } from './contract/inbox/fixture.ts'
import { geohook, startGeohook } from './helpers/cli.ts'
import { readCompose } from './helpers/compose.ts'
import { deliver, expectExampleWorks, KEY, type OtherRoute, urlOf } from './helpers/example.ts'
import { findNginx, startNginx } from './helpers/nginx.ts'
import type { Started } from './helpers/process.ts'
import type { Need } from './helpers/requirements.ts'
import { POSTGRES } from './helpers/servers.ts'
import { manifestOf, startExample } from './helpers/start-example.ts'

interface Example {
  otherRoute?: OtherRoute
  env?: Record<string, string | undefined>
  /** The status of a successful delivery. Default: 200. */
  success?: number
  /** A program or driver without which the test is skipped, or fails with `CI=true`. */
  needs?: Need
  /** Checks the special features of this example. */
  check?(app: Started, url: string): Promise<void>
}

const FOLDERS = readdirSync('examples', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
  .map(({ name }) => name)
  .sort()

const NGINX = findNginx()

/** Temporary directory for the files that the examples write. */
const scratch = mkdtempSync(join(tmpdir(), 'geohook-examples-'))
const INBOX_SCHEMA = `geohook_example_${process.pid}`
afterAll(async () => {
  rmSync(scratch, { recursive: true })
  if ('PostgreSQL' in inject('missing')) return
  const client = new Client({ connectionString: POSTGRES.url })
  await client.connect()
  await client.query(`drop schema if exists ${INBOX_SCHEMA} cascade`)
  await client.end()
})

/** Writes a file with these keys, newest first, and returns its path. */
function writeKeyring(name: string, ...keys: string[]): string {
  const path = join(scratch, name)
  const entries = keys.map((key, index) => ({ id: `key${index}`, key }))
  writeFileSync(path, JSON.stringify({ keys: entries }), { mode: 0o600 })
  return path
}

const health: OtherRoute = ['/health', { ok: true }]
const layers: OtherRoute = ['/layers', { added: 'Roads' }, { name: 'Roads' }]

/** How to test each example. */
const EXAMPLES: Record<string, Example> = {
  express: {
    otherRoute: health,
    check: async (app) =>
      void (await app.printed(/edited: https?:\S+\ndelivery [0-9a-f]{32}: FeaturesCreated\n/)),
  },
  node: {
    otherRoute: health,
    env: { PREVIOUS_KEY: 'parcels2025' },
    async check(app, url) {
      expect(app.output).not.toContain('previous key')
      expect(await deliver(url, { signatureKey: 'parcels2025' })).toBe(200)
      await app.printed(/still signed with the previous key/)
    },
  },
  keyring: {
    env: { KEYRING: writeKeyring('keys.json', KEY), STATS_TOKEN: 'token2026' },
    async check(app, url) {
      writeKeyring('keys.json', 'parcels2027', KEY)
      expect(await deliver(`${url}/key0`, { signatureKey: 'parcels2027' })).toBe(200)
      const ask = (authorization: string) =>
        fetch(new URL('/stats', url), { headers: authorization ? { authorization } : {} })
      for (const wrong of ['', 'Bearer', 'Bearer token202', 'Bearer token20267', 'token2026'])
        expect((await ask(wrong)).status).toBe(401)
      expect(await (await ask('Bearer token2026')).json()).toMatchObject({
        instance: expect.any(String),
        outcomes: { handled: 2, refused: 1 },
        keys: [
          { id: 'key0', matched: 1 },
          { id: 'key1', matched: 1 },
        ],
      })
      expect(app.output).not.toContain('parcels2027')
    },
  },
  inbox: {
    env: { INBOX: join(scratch, 'inbox.db') },
    success: 202,
    needs: 'SQLite',
    async check(app, url) {
      await app.printed(
        /attempt 1 failed: Error: the database is restarting\n[\s\S]*FeaturesCreated on Parcels, .* attempt 2/,
      )
      await until(async () => {
        const health = (await (await fetch(new URL('/health', url))).json()) as { ok: boolean; done: number }
        return health.ok && health.done === 1
      })
    },
  },
  polka: {
    otherRoute: health,
    env: { ROADS_KEY: 'roads2026' },
    async check(app, url) {
      const [roads, unknown] = ['roads', 'constructor'].map((name) => url.replace('parcels', name))
      expect(await deliver(roads ?? '', { signatureKey: 'roads2026' })).toBe(200)
      await app.printed(/ of roads\b/)
      expect(await deliver(roads ?? '')).toBe(401)
      await app.printed(/signature_mismatch for roads/)
      expect(await deliver(unknown ?? '')).toBe(401)
      await app.printed(/key_unknown for constructor/)
    },
  },
  nest: {
    otherRoute: layers,
    async check(_app, url) {
      expect(await (await fetch(new URL('/layers', url))).json()).toEqual(['Parcels', 'Roads'])
    },
  },
  fastify: {
    otherRoute: layers,
    async check(app, url) {
      expect(await deliver(url, { changeType: 'FeaturesDeleted' })).toBe(200)
      await app.printed(/deleted: https?:/)
      expect((await fetch(new URL('/layers', url), { method: 'POST' })).status).toBe(400)
    },
  },
  pino: {
    async check(app, url) {
      expect(await deliver(url, { changeType: 'FeaturesDeleted' })).toBe(500)
      const [line] = await app.printed(/^.*"msg":"failed".*$/m)
      expect(JSON.parse(line)).toMatchObject({ level: 50, delivery: expect.stringMatching(/^[0-9a-f]{32}$/) })
      expect(line).toMatch(/"err":.*"stack":"Error: the archive is read-only\\n/)
      await app.printed(/"changeTypes":\["FeaturesCreated"\],"milliseconds":[\d.]+,"msg":"handled"/)
    },
  },
  tenants: {
    env: { ROADS_KEY: 'roads2026' },
    otherRoute: ['/tenants/parcels', { tenant: 'parcels' }],
    async check(app, url) {
      const [roads, unknown] = ['roads', '__proto__'].map((name) => url.replace('parcels', name))
      expect(await deliver(roads ?? '', { signatureKey: 'roads2026' })).toBe(200)
      await app.printed(/ of roads\b/)
      expect(await deliver(roads ?? '')).toBe(401)
      await app.printed(/signature_mismatch for roads/)
      expect(await deliver(unknown ?? '')).toBe(401)
      await app.printed(/key_unknown for __proto__/)
    },
  },
  nginx: {
    needs: 'nginx',
    async check(app, url) {
      const config = readFileSync('examples/nginx/nginx.conf', 'utf8')
      const nginx = await startNginx(NGINX ?? '', url, (port) => {
        const ours = config
          .replace('127.0.0.1:3000', new URL(url).host)
          .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
        // If root starts nginx, its workers run as another user, which cannot write to this folder.
        return process.getuid?.() === 0 ? `user root;\n${ours}` : ours
      })
      try {
        // The query contains what a proxy would change if it decoded and encoded it again.
        const proxied = `${nginx.url}/hooks/parcels?a=%2F%2f//..&b`
        expect(await deliver(proxied)).toBe(200)
        expect(await deliver(proxied, { signatureKey: 'forged' })).toBe(401)
        await app.printed(/refused: signature_mismatch from 127\.0\.0\.1\./)
        const body = new Uint8Array(1024 ** 2 + 1)
        expect((await fetch(proxied, { method: 'POST', body })).status).toBe(413)
      } finally {
        await nginx.close()
      }
    },
  },
  compose: {
    env: { DATABASE_URL: POSTGRES.url, INBOX_SCHEMA },
    success: 202,
    needs: 'PostgreSQL',
    check: checkCompose,
  },
  sync: {
    // test/changes/sync.package.ts tests the mirror.
    env: { DATABASE_URL: undefined, INBOX: join(scratch, 'sync.db'), MIRROR: join(scratch, 'mirror.db') },
    success: 202,
    needs: 'SQLite',
    check: async (app) => void (await app.printed(/ignored: it is not about features of/)),
  },
  koa: { otherRoute: layers },
  hono: {
    otherRoute: health,
    async check(app, url) {
      const misfit = await createSigner({ signatureKey: KEY }).sign({ events: 'none' })
      expect((await fetch(url, misfit)).status).toBe(400)
      await app.printed(/refused: payload_invalid/)
    },
  },
  h3: { otherRoute: health },
  google: {},
  lambda: {},
  azure: {
    otherRoute: ['/api/health', { ok: true }],
  },
}

/** Runs the mock of compose.yaml against the receiver, and triggers a delivery as the file's first lines say. */
async function checkCompose(app: Started, url: string): Promise<void> {
  const folder = 'examples/compose'
  const { receiver, mock } = readCompose(folder).services
  const seed = JSON.parse(readFileSync(join(folder, 'seed.json'), 'utf8'))
  const [webhook] = seed.webhooks
  expect(receiver?.command).toBe('npm start')
  expect(receiver?.environment).toMatchObject({
    SIGNATURE_KEY: webhook.signatureKey,
    PORT: new URL(webhook.hookUrl).port,
  })
  expect(webhook.signatureKey).toBe(KEY)
  webhook.hookUrl = url // with the port of this test
  const file = join(scratch, 'seed.json')
  writeFileSync(file, JSON.stringify(seed))

  const words =
    /^npx geohook (.*)$/
      .exec(mock?.command ?? '')?.[1]
      ?.replace('seed.json', file)
      .split(' ') ?? []
  const service = startGeohook([...words, '--port', '0'])
  try {
    const [GEOHOOK_URL = ''] = await service.printed(/http:\/\/[\d.:]+/)
    const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
    const [, trigger = ''] = /exec mock npx geohook (.*)/.exec(text) ?? []
    expect((await geohook(trigger.split(' '), { env: { GEOHOOK_URL } })).stdout).toMatch(/^202 /)
    await app.printed(/(FeaturesCreated on Parcels\n[\s\S]*){2}/)
  } finally {
    await service.stop()
  }
}

it.concurrent.for(Object.entries(EXAMPLES))(
  'examples/%s handles a delivery and rejects a forged one',
  async ([name, example], { skip }) => {
    const { needs } = example
    if (needs && process.env.CI !== 'true') skip(needs in inject('missing') || (needs === 'nginx' && !NGINX))
    const app = startExample(name, example.env, KEY)
    try {
      const url = await urlOf(app)
      await expectExampleWorks(app, url, example.otherRoute, example.success)
      await example.check?.(app, url)
      for (const key of [KEY, ...Object.values(example.env ?? {})])
        if (key !== undefined) expect(app.output).not.toContain(key)
      expect(await app.stop()).toBe(0)
    } finally {
      await app.stop()
    }
  },
)

/** Examples that look up their keys per request, or get them from compose.yaml or another file. */
const CHECK_NO_KEY = ['polka', 'tenants', 'compose', 'keyring']

it('examples/keyring does not start without a keyring or a token', async () => {
  for (const [env, message] of [
    [{ STATS_TOKEN: 'token2026' }, 'path is missing'],
    [{ KEYRING: writeKeyring('no-token.json', KEY) }, 'STATS_TOKEN is missing'],
  ] as const) {
    const app = startExample('keyring', env, KEY)
    expect(await app.exited).toBe(1)
    expect(app.output).toContain(message)
  }
})

it.concurrent.for(Object.entries(EXAMPLES).filter(([name]) => !CHECK_NO_KEY.includes(name)))(
  'examples/%s does not start without a key',
  async ([name]) => {
    const app = startExample(name, {}, '')
    expect(await app.exited).toBe(1)
    expect(app.output).toContain('signatureKey is empty')
  },
)

it('examples/next can be loaded without a key, as in next build, and reads the key for each delivery', async () => {
  vi.stubEnv('SIGNATURE_KEY', undefined)
  onTestFinished(() => void vi.unstubAllEnvs())
  const route: string = '../examples/next/app/hooks/parcels/route.js' // without types
  const { POST } = await import(route)
  vi.stubEnv('SIGNATURE_KEY', KEY)
  const signed = await createSigner({ signatureKey: KEY }).sign({ events: [] })
  expect((await POST(new Request('http://a.example', signed))).status).toBe(200)
})

it('every example is tested', () => {
  const elsewhere = ['bun', 'deno', 'next', 'worker'] // test/runtimes/examples.run.ts
  expect(FOLDERS).toEqual([...Object.keys(EXAMPLES), ...elsewhere].sort())
})

it.each(FOLDERS)('examples/%s has a start script, and depends on the versions that are tested', (name) => {
  const { type, scripts, dependencies, devDependencies } = manifestOf(join('examples', name))
  expect([type, scripts.start]).toEqual(['module', expect.any(String)])
  expect(dependencies.geohook).toBe('file:../..')
  const root = { ...manifestOf('.').dependencies, ...manifestOf('.').devDependencies }
  for (const [dependency, range] of Object.entries({ ...dependencies, ...devDependencies }))
    if (dependency in root) expect([dependency, range]).toEqual([dependency, root[dependency]])
})
