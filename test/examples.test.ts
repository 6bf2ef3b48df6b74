import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSigner } from 'geohook/testing'
import { afterAll, expect, inject, it } from 'vitest'
import { until } from './contract/inbox/fixture.ts'
import { deliver, expectExampleWorks, KEY, type OtherRoute, urlOf } from './helpers/example.ts'
import { type Started, startNode } from './helpers/process.ts'

interface Example {
  args: string[]
  cwd?: string
  otherRoute?: OtherRoute
  env?: Record<string, string>
  /** The status of a successful delivery. Default: 200. */
  success?: number
  /** True if the example needs a SQLite driver. */
  needsSqlite?: true
  /** Checks the special features of this example. */
  check?(app: Started, url: string): Promise<void>
}

/** Temporary directory for the files that the examples write. */
const folder = mkdtempSync(join(tmpdir(), 'geohook-examples-'))
afterAll(() => rmSync(folder, { recursive: true }))

const tsx = ['--import', 'tsx']
const health: OtherRoute = ['/health', { ok: true }]
const layers: OtherRoute = ['/layers', { added: 'Roads' }, { name: 'Roads' }]

/**
 * How to start and test each example. Examples for hosts that are not on npm run on the simulated hosts in
 * `test/helpers/hosts`.
 */
const EXAMPLES: Record<string, Example> = {
  express: {
    args: ['examples/express/server.js'],
    otherRoute: health,
    check: async (app) =>
      void (await app.printed(/edited: https?:\S+\ndelivery [0-9a-f]{32}: FeaturesCreated\n/)),
  },
  node: {
    args: ['examples/node/server.js'],
    otherRoute: health,
    env: { PREVIOUS_KEY: 'parcels2025' },
    async check(app, url) {
      expect(app.output).not.toContain('previous key')
      expect(await deliver(url, { signatureKey: 'parcels2025' })).toBe(200)
      await app.printed(/still signed with the previous key/)
    },
  },
  inbox: {
    args: ['examples/inbox/server.js'],
    env: { INBOX: join(folder, 'inbox.db') },
    success: 202,
    needsSqlite: true,
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
    args: ['examples/polka/server.js'],
    otherRoute: health,
    env: { ROADS_KEY: 'roads2026' },
    async check(app, url) {
      const [roads, unknown] = ['roads', 'constructor'].map((name) => url.replace('parcels', name))
      expect(await deliver(roads ?? '', { signatureKey: 'roads2026' })).toBe(200)
      expect(await deliver(roads ?? '')).toBe(401)
      await app.printed(/signature_mismatch for roads/)
      expect(await deliver(unknown ?? '')).toBe(401)
      await app.printed(/key_unknown for constructor/)
    },
  },
  nest: {
    args: [...tsx, 'main.ts'],
    cwd: 'examples/nest',
    otherRoute: layers,
    async check(_app, url) {
      expect(await (await fetch(new URL('/layers', url))).json()).toEqual(['Parcels', 'Roads'])
    },
  },
  fastify: {
    args: ['examples/fastify/server.js'],
    otherRoute: layers,
    async check(app, url) {
      expect(await deliver(url, { changeType: 'FeaturesDeleted' })).toBe(200)
      await app.printed(/deleted: https?:/)
      expect((await fetch(new URL('/layers', url), { method: 'POST' })).status).toBe(400)
    },
  },
  koa: { args: ['examples/koa/server.js'], otherRoute: layers },
  hono: {
    args: [...tsx, 'examples/hono/server.ts'],
    otherRoute: health,
    async check(app, url) {
      const misfit = await createSigner({ signatureKey: KEY }).sign({ events: 'none' })
      expect((await fetch(url, misfit)).status).toBe(400)
      await app.printed(/refused: payload_invalid/)
    },
  },
  h3: { args: ['examples/h3/server.js'], otherRoute: health },
  google: {
    args: [
      '--import=./test/helpers/hosts/loopback.mjs',
      'node_modules/.bin/functions-framework',
      '--target=parcels',
      '--source=examples/google',
      '--port=3000',
    ],
  },
  lambda: { args: [...tsx, 'test/helpers/hosts/lambda.ts', 'examples/lambda/index.mjs', 'handler'] },
  azure: {
    args: [...tsx, 'test/helpers/hosts/azure.ts', 'examples/azure/functions.js'],
    otherRoute: ['/api/health', { ok: true }],
  },
}

const start = ({ args, cwd, env }: Example, key: string): Started =>
  startNode(args, { ...env, SIGNATURE_KEY: key, PORT: '0' }, { cwd })

it.concurrent.for(Object.entries(EXAMPLES))(
  'examples/%s handles a delivery and rejects a forged one',
  async ([, example], { skip }) => {
    if (example.needsSqlite && process.env.CI !== 'true') skip('SQLite' in inject('missing'))
    const app = start(example, KEY)
    try {
      const url = await urlOf(app)
      await expectExampleWorks(app, url, example.otherRoute, example.success)
      await example.check?.(app, url)
      for (const key of [KEY, ...Object.values(example.env ?? {})]) expect(app.output).not.toContain(key)
      expect(await app.stop()).toBe(0)
    } finally {
      await app.stop()
    }
  },
)

/** All examples that read a key at startup. Polka is excluded, because it looks up keys per request. */
const { polka: _, ...checked } = EXAMPLES

it.concurrent.for(Object.entries(checked))(
  'examples/%s does not start without a key',
  async ([, example]) => {
    const app = start({ ...example, env: {} }, '')
    expect(await app.exited).toBe(1)
    expect(app.output).toContain('signatureKey is empty')
  },
)

it('every example is tested', () => {
  const elsewhere = ['bun', 'deno', 'next', 'worker'] // test/runtimes/examples.run.ts
  const folders = readdirSync('examples', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(folders.map(({ name }) => name).sort()).toEqual([...Object.keys(EXAMPLES), ...elsewhere].sort())
})
