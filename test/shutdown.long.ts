import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, it } from 'vitest'
import { expectShutdown } from './helpers/shutdown.ts'

const folder = mkdtempSync(join(tmpdir(), 'geohook-shutdown-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns how many times an example is started and stopped. `SHUTDOWN_RUNS` overrides the number for all examples. */
const runsOf = (name: string): number => Number(process.env.SHUTDOWN_RUNS ?? (name === 'inbox' ? 20 : 3))
const EXAMPLES = ['node', 'express', 'polka', 'fastify', 'koa', 'hono', 'h3', 'inbox']

it.each(EXAMPLES.map((name) => [name, runsOf(name)] as const))(
  'examples/%s exits on a signal and responds to every request while eight connections keep sending (%i runs)',
  async (name, runs) => {
    const args =
      name === 'hono' ? ['--import', 'tsx', 'examples/hono/server.ts'] : [`examples/${name}/server.js`]
    for (let run = 0; run < runs; run++)
      await expectShutdown(args, {
        env: { INBOX: join(folder, `${run}.db`) },
        signal: run % 2 === 0 ? 'SIGTERM' : 'SIGINT',
      })
  },
)
