import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '../helpers/mounts/mounted.ts'

/** A runtime and its app under test. `contract/matrix.ts` prints the results of each as one column. */
export interface Runtime {
  name: string
  /** Path of the program in node_modules. */
  bin: string
  /** Arguments that precede the path of the app. */
  args: readonly string[]
  /** Prefix of the name that the runtime reports. */
  reports: string
  /** File name of the app under test, in the folder that `install.ts` creates. */
  app: string
  host?: Host
}

const node = (version: number, app = 'node.mjs'): Runtime => ({
  name: `Node ${version}${app.endsWith('.cjs') ? ' (CommonJS)' : ''}`,
  bin: `node${version}/bin/node`,
  args: [],
  reports: `Node v${version}`,
  app,
})

export const bun = { bin: onlyIn('@oven', 'bin/bun'), args: ['run'], reports: 'Bun' }
export const deno = {
  bin: onlyIn('@deno', 'deno'),
  args: ['run', '--allow-all', '--no-lock'],
  reports: 'Deno',
}
export const workerd = {
  bin: onlyIn('@cloudflare', 'bin/workerd'),
  args: ['serve', '--control-fd=1'],
  reports: 'Cloudflare',
}

/** The runtimes that must pass the contract, in addition to the Node that runs the tests. Add new runtimes here. */
export const RUNTIMES: readonly Runtime[] = [
  node(20),
  node(22),
  node(24),
  node(26),
  node(20, 'node.cjs'),
  node(26, 'node.cjs'),
  { name: 'Bun', ...bun, app: 'bun.mjs' },
  { name: 'Bun (node:http)', ...bun, app: 'node.mjs' },
  { name: 'Deno', ...deno, app: 'deno.mjs' },
  { name: 'Deno (node:http)', ...deno, app: 'node.mjs' },
  { name: 'workerd', ...workerd, app: 'worker.capnp' },
]

/** Finds a program in an npm scope. Only one package of the scope is installed: the package for this system. */
function onlyIn(scope: string, program: string): string {
  const folder = join(import.meta.dirname, 'node_modules', scope)
  const [system = 'none'] = existsSync(folder) ? readdirSync(folder) : []
  return join(scope, system, program)
}
