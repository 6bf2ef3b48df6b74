import { copyFileSync, cpSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { expect, inject, it } from 'vitest'
import { expectExampleWorks, KEY, type OtherRoute, urlOf } from '../helpers/example.ts'
import { type Started, startProgram } from '../helpers/process.ts'
import { bun, deno, workerd } from './runtimes.ts'

const here = import.meta.dirname
const health: OtherRoute = ['/health', { ok: true }]

/** Copies an example next to the installed package. There, the example cannot import files of this repository. */
function copy(name: string): string {
  const folder = join(inject('appFolder'), name)
  cpSync(join(here, '../../examples', name), folder, {
    recursive: true,
    filter: (path) => !/^(node_modules|\.next)$/.test(basename(path)),
  })
  const resolved = createRequire(join(folder, 'app.js')).resolve('geohook')
  expect(resolved.startsWith(join(inject('appFolder'), 'node_modules/geohook/'))).toBe(true)
  return folder
}

const start = (program: string, args: string[], cwd: string): Started =>
  startProgram(program, args, { SIGNATURE_KEY: KEY, PORT: '0', NODE_ENV: undefined }, { cwd })

async function use(app: Started, test: () => Promise<void>): Promise<number | null> {
  try {
    await test()
  } finally {
    await app.stop()
  }
  return app.exited
}

// These tests are not in a `describe`, because `contract/matrix.ts` prints each `describe` as a column of the contract.
it.for([
  ['bun', bun.bin, ['run', 'server.ts']],
  ['deno', deno.bin, ['run', '--allow-env', '--allow-net', 'server.ts']],
] as const)('examples/%s runs outside of the repository', { timeout: 30_000 }, async ([name, bin, args]) => {
  const app = start(join(here, 'node_modules', bin), [...args], copy(name))
  expect(await use(app, async () => expectExampleWorks(app, await urlOf(app), health))).toBe(0)
})

it('examples/worker runs outside of the repository', { timeout: 30_000 }, async () => {
  const folder = copy('worker')
  const { main, compatibility_date: date } = JSON.parse(readFileSync(join(folder, 'wrangler.jsonc'), 'utf8'))
  copyFileSync(join(here, 'app/worker-example.capnp'), join(folder, 'worker.capnp'))
  expect(readFileSync(join(folder, 'worker.capnp'), 'utf8')).toContain(`compatibilityDate = "${date}"`)
  // These are the options that wrangler uses.
  await build({
    entryPoints: [join(folder, main)],
    outfile: join(folder, 'bundled.mjs'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    logLevel: 'error',
  })
  const app = start(
    join(here, 'node_modules', workerd.bin),
    [...workerd.args, '--verbose', 'worker.capnp'],
    folder,
  )
  await use(app, async () => {
    const [, port] = await app.printed(/"port":(\d+)/)
    await expectExampleWorks(app, `http://127.0.0.1:${port}/hooks/parcels`, health)
  })
})

it('examples/next runs outside of the repository', { timeout: 120_000 }, async () => {
  const folder = copy('next')
  const { optionalDependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
  // Copy the packages, because Next.js rejects linked packages.
  for (const name of readdirSync(join(here, 'node_modules'))) {
    if (name.startsWith('.') || name in optionalDependencies || /^@(cloudflare|deno|oven)$/.test(name))
      continue
    cpSync(join(here, 'node_modules', name), join(folder, 'node_modules', name), { recursive: true })
  }
  const next = (...args: string[]): Started =>
    startProgram(
      process.execPath,
      ['node_modules/next/dist/bin/next', ...args],
      // Runs the build without a key, because a build must not need one.
      {
        SIGNATURE_KEY: args[0] === 'build' ? undefined : KEY,
        NODE_ENV: undefined,
        NEXT_TELEMETRY_DISABLED: '1',
      },
      { cwd: folder },
    )
  const building = next('build')
  expect([await building.exited, building.output]).toEqual([0, expect.stringContaining('/hooks/parcels')])
  const app = next('start', '--port=0', '--hostname=127.0.0.1')
  await use(app, async () => {
    const [origin] = await app.printed(/http:\/\/127\.0\.0\.1:\d+/)
    await expectExampleWorks(app, `${origin}/hooks/parcels`)
  })
})
