import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, it } from 'vitest'
import { expectShutdown } from './helpers/shutdown.ts'

const folder = mkdtempSync(join(tmpdir(), 'geohook-shutdown-'))
afterAll(() => rmSync(folder, { recursive: true }))

const RUNS = 20
const EXAMPLES = ['node', 'express', 'polka', 'fastify', 'koa', 'hono', 'h3', 'inbox']

it.each(EXAMPLES)(
  `examples/%s ends in time in ${RUNS} of ${RUNS} runs while eight connections keep sending, and every request is answered`,
  { timeout: 300_000 },
  async (name) => {
    const args =
      name === 'hono' ? ['--import', 'tsx', 'examples/hono/server.ts'] : [`examples/${name}/server.js`]
    for (let run = 0; run < RUNS; run++)
      await expectShutdown(args, {
        env: { INBOX: join(folder, `${run}.db`) },
        signal: run % 2 === 0 ? 'SIGTERM' : 'SIGINT',
      })
  },
)
