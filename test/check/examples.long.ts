import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, inject, it } from 'vitest'
import { KEY, urlOf } from '../helpers/example.ts'
import { findNginx, startNginx } from '../helpers/nginx.ts'
import type { Need } from '../helpers/requirements.ts'
import { POSTGRES } from '../helpers/servers.ts'
import { startExample } from '../helpers/start-example.ts'
import { checkUrl, expectConforms, expectFinds, type Finds } from './expectations.ts'

interface Example {
  env?: Record<string, string | undefined>
  needs?: Need
  /** What is found in the host of the example, or in its handlers. */
  finds?: Finds
}

const scratch = mkdtempSync(join(tmpdir(), 'geohook-check-'))
writeFileSync(join(scratch, 'keys.json'), JSON.stringify({ keys: [{ id: 'a', key: KEY }] }))
const INBOX_SCHEMA = `geohook_check_${process.pid}`
afterAll(async () => {
  rmSync(scratch, { recursive: true })
  if ('PostgreSQL' in inject('missing')) return
  const client = new Client({ connectionString: POSTGRES.url })
  await client.connect()
  await client.query(`drop schema if exists ${INBOX_SCHEMA} cascade`)
  await client.end()
})

const EXAMPLES: Record<string, Example> = {
  express: {},
  node: {},
  keyring: { env: { KEYRING: join(scratch, 'keys.json'), STATS_TOKEN: 'token2026' } },
  inbox: { env: { INBOX: join(scratch, 'inbox.db') }, needs: 'SQLite' },
  polka: { env: { ROADS_KEY: 'roads2026' } },
  nest: {},
  fastify: {},
  pino: { finds: { fails: ['several-events'] } }, // its handler for deleted features fails, to show the log of a failure
  tenants: { env: { ROADS_KEY: 'roads2026' } },
  compose: { env: { DATABASE_URL: POSTGRES.url, INBOX_SCHEMA }, needs: 'PostgreSQL' },
  sync: {
    env: { DATABASE_URL: undefined, INBOX: join(scratch, 'sync.db'), MIRROR: join(scratch, 'mirror.db') },
    needs: 'SQLite',
  },
  koa: {},
  hono: {},
  h3: {},
  google: {
    env: { NODE_ENV: 'production' },
    // The framework reads bodies of up to 1 GB, also compressed ones, and parses JSON before it calls the function.
    finds: {
      fails: ['unverified-json', 'too-large-length', 'too-large-chunked', 'slow-upload'],
      mayFail: ['compressed-bomb'],
    },
  },
  lambda: {},
  azure: {},
}

it.concurrent.for(Object.entries(EXAMPLES))('examples/%s conforms', async ([name, example], { skip }) => {
  const { needs, env, finds } = example
  if (needs && process.env.CI !== 'true') skip(needs in inject('missing'))
  const app = startExample(name, env, KEY)
  try {
    const report = await checkUrl(await urlOf(app))
    if (finds) expectFinds(report, finds)
    else expectConforms(report)
  } finally {
    await app.stop()
  }
})

// nginx limits only the time between two reads, and passes a request on when it has all of it.
it('examples/nginx conforms behind nginx, except for slow uploads', async ({ skip }) => {
  const program = findNginx()
  if (!program && process.env.CI !== 'true') skip('no nginx')
  const app = startExample('nginx', {}, KEY)
  try {
    const url = await urlOf(app)
    const config = readFileSync('examples/nginx/nginx.conf', 'utf8')
    const nginx = await startNginx(program ?? '', url, (port) => {
      const ours = config
        .replace('127.0.0.1:3000', new URL(url).host)
        .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
      return process.getuid?.() === 0 ? `user root;\n${ours}` : ours
    })
    try {
      const report = await checkUrl(nginx.url + new URL(url).pathname)
      expectFinds(report, { fails: ['slow-upload'] })
    } finally {
      await nginx.close()
    }
  } finally {
    await app.stop()
  }
})
