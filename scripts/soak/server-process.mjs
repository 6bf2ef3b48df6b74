import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { start } from '../../bench/child.mjs'

process.env.NODE_ENV = 'test' // otherwise Express prints an error for each upload that is cut off

/**
 * V8 must not compile functions one after another, nor discard their bytecode: the size of the code would grow or
 * change for minutes. With these flags, it grows no more after about 2,000 requests.
 */
const FLAGS = [
  '--expose-gc',
  '--no-warnings',
  '--no-opt',
  '--no-sparkplug',
  '--no-lazy-feedback-allocation',
  '--no-flush-bytecode',
]

const root = fileURLToPath(new URL('../..', import.meta.url))
const timers = new URL('server/timers.mjs', import.meta.url)

/**
 * Bundles the server, so that the process to measure needs no loader for TypeScript. The bundle imports the built
 * package. It is in this repository, because its imports are resolved from there.
 */
export async function bundleServer() {
  const folder = await mkdtemp(join(root, '.soak-'))
  const path = join(folder, 'server.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('server/main.mjs', import.meta.url))],
    outfile: path,
    bundle: true,
    packages: 'external',
    // Not bundled, so that the bundle shares the module that `--import` has loaded.
    external: [fileURLToPath(timers)],
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
  return {
    start: (inbox, leak) =>
      start(path, { args: [inbox, leak], execArgv: ['--import', timers.href, ...FLAGS] }),
    remove: () => rm(folder, { recursive: true }),
  }
}
