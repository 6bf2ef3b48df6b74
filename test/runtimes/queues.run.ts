import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { Queue } from 'bullmq'
import { build } from 'esbuild'
import { packDelivery } from 'geohook/inbox'
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { findPort } from '../helpers/port.ts'
import { startProgram } from '../helpers/process.ts'
import { POSTGRES, REDIS, type Server, whyMissing } from '../helpers/servers.ts'
import { deliveryWithId, idOf } from '../inbox/deliveries.ts'
import { ATTEMPTS, testRecipe } from '../queues/cases.ts'
import { startFakeSqs } from '../queues/fake-sqs.ts'
import { type Change, change, codeIn, link, listening, startRecipe, writeRecipe } from '../queues/recipes.ts'

// The recipes in docs/queues.md whose packages need a newer Node than 20, or are large.

const here = import.meta.dirname
const node24 = join(here, 'node_modules/node24/bin/node')
const QUEUE = `geohook-recipe-${process.pid}`
const SCHEMA = `geohook_recipe_${process.pid}`

/** The packages of a recipe: geohook from its tarball, and those in test/runtimes. */
const packages = (...names: string[]): Record<string, string> => ({
  geohook: join(inject('appFolder'), 'node_modules/geohook'),
  ...Object.fromEntries(names.map((name) => [name, join(here, 'node_modules', name)])),
})

/** Runs tests that need a server. Without the server, skips them, or fails with `CI=true`. */
async function withServer(server: Server, tests: () => void): Promise<void> {
  const why = await whyMissing(server, server.url)
  if (why === undefined || process.env.CI === 'true') return tests()
  it.skip(why, () => {})
}

await withServer(POSTGRES, () =>
  testRecipe({
    name: 'pg-boss',
    limit: 1024 ** 2,
    duplicate: 200,
    afterKill: 2,
    server: POSTGRES.url,
    async start(env, server) {
      const folder = writeRecipe('pg-boss', packages('pg-boss'), [
        ['retryLimit: 19', `retryLimit: ${ATTEMPTS - 1}`],
        ['heartbeatSeconds: 30', 'heartbeatSeconds: 10'],
        ['retryBackoff: true', 'retryBackoff: false'],
        ['retryDelayMax: 600,', ''],
        ['localConcurrency: 10', 'localConcurrency: 10, pollingIntervalSeconds: 0.5'],
        [
          'new PgBoss(process.env.DATABASE_URL',
          `new PgBoss({ schema: '${SCHEMA}', superviseIntervalSeconds: 1, monitorIntervalSeconds: 1, connectionString: process.env.DATABASE_URL`,
        ],
        ["5432/postgres')", "5432/postgres' })"],
      ])
      const recipe = await startRecipe(folder, { ...env, DATABASE_URL: server, QUEUE }, node24)
      const client = new pg.Client({ connectionString: POSTGRES.url })
      await client.connect()
      return {
        url: recipe.url,
        kill: recipe.kill,
        push: async (text) =>
          void (await client.query(
            `insert into ${SCHEMA}.job (name, data, retry_limit, retry_delay, dead_letter, policy)
           select name, $2, retry_limit, retry_delay, dead_letter, policy from ${SCHEMA}.queue where name = $1`,
            [QUEUE, { text }],
          )),
        async dead() {
          const { rows } = await client.query(`select data from ${SCHEMA}.job where name = $1`, [
            `${QUEUE}-dead`,
          ])
          return rows.map(({ data }) => data.text)
        },
        async pending() {
          const { rows } = await client.query(
            `select 1 from ${SCHEMA}.job where name = $1 and state not in ('completed', 'failed')`,
            [QUEUE],
          )
          return rows.length
        },
        async stop() {
          await recipe.stop()
          await client.query(`drop schema ${SCHEMA} cascade`)
          await client.end()
        },
      }
    },
  }),
)

testRecipe({
  name: 'SQS (a fake of the service)',
  limit: 700 * 1024,
  afterKill: 2,
  async start(env) {
    const sqs = await startFakeSqs(ATTEMPTS)
    const folder = writeRecipe('SQS', packages('@aws-sdk/client-sqs'), [
      ['2 ** attempt', '1'],
      ['VisibilityTimeout: 120', 'VisibilityTimeout: 4'],
    ])
    const settings = {
      AWS_ENDPOINT_URL_SQS: sqs.url,
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      QUEUE_URL: `${sqs.url}/1/deliveries`,
      DEAD_QUEUE_URL: `${sqs.url}/1/deliveries-dead`,
    }
    const recipe = await startRecipe(folder, { ...env, ...settings }, node24)
    return {
      url: recipe.url,
      kill: recipe.kill,
      push: async (body) => void sqs.messages.push({ body, receipt: '', received: 0, visibleAt: 0 }),
      dead: async () => [...sqs.dead],
      pending: async () => sqs.messages.length,
      async stop() {
        await recipe.stop()
        sqs.close()
      },
    }
  },
})

const SHORT: Change[] = [['2 ** message.attempts', '1']]

testRecipe({
  name: 'Cloudflare Queues (in Miniflare)',
  limit: 80 * 1024,
  async start(env) {
    const dead: string[] = []
    const letters = createServer(async (request, response) => {
      dead.push(await readText(request))
      response.end()
    }).listen(0, '127.0.0.1')
    const folder = inject('appFolder')
    writeFileSync(join(folder, 'queue.mjs'), change(codeIn('Cloudflare Queues')[0] ?? '', SHORT))
    await build({
      entryPoints: [join(folder, 'queue.mjs')],
      outfile: join(folder, 'queue-bundled.mjs'),
      bundle: true,
      format: 'esm',
      target: 'es2022',
      conditions: ['workerd', 'worker', 'browser'],
      logLevel: 'error',
    })
    const port = await findPort()
    const [config = ''] = codeIn('Cloudflare Queues', 'json')
    const settings = {
      SCRIPT: join(folder, 'queue-bundled.mjs'),
      CONFIG: change(config, [['"max_retries": 19', `"max_retries": ${ATTEMPTS - 1}`]]),
      DEAD_URL: `http://127.0.0.1:${(letters.address() as AddressInfo).port}/`,
      PORT: `${port}`,
    }
    const app = startProgram(
      node24,
      [join(here, 'app/miniflare.mjs')],
      { ...env, ...settings },
      { stdin: 'open' },
    )
    const url = `http://127.0.0.1:${port}/hooks/parcels`
    await listening(app, url)
    return {
      url,
      push: async (text) => void app.child.stdin?.write(`${JSON.stringify(text)}\n`),
      dead: async () => [...dead],
      async stop() {
        app.child.stdin?.end()
        await app.exited
        letters.close()
      },
    }
  },
})

await withServer(REDIS, () =>
  it('BullMQ: Bull Board shows the deliveries', { timeout: 60_000 }, async () => {
    const connection = { url: REDIS.url }
    const queue = new Queue(QUEUE, { connection })
    const delivery = { ...deliveryWithId(idOf('a')), tenant: 'Parcels' }
    await queue.add('delivery', packDelivery(delivery))
    const folder = mkdtempSync(join(tmpdir(), 'geohook-board-'))
    writeFileSync(join(folder, 'board.mjs'), codeIn('BullMQ')[1] ?? '')
    const names = ['@bull-board/api', '@bull-board/express', 'express']
    link(folder, { ...packages(...names), bullmq: join(here, '../../node_modules/bullmq') })
    const port = await findPort()
    const app = startProgram(
      node24,
      ['board.mjs'],
      { REDIS_URL: REDIS.url, QUEUE, PORT: `${port}` },
      { cwd: folder },
    )
    try {
      await listening(app, `http://127.0.0.1:${port}/`)
      const page = await fetch(`http://127.0.0.1:${port}/`)
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Bull')])
      const response = await fetch(
        `http://127.0.0.1:${port}/api/queues?activeQueue=${QUEUE}&status=waiting&page=1`,
      )
      expect(await response.text()).toContain(delivery.id)
    } finally {
      await app.stop()
      await queue.obliterate({ force: true })
      await queue.close()
      rmSync(folder, { recursive: true })
    }
  }),
)
