import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from '../helpers/mounts/mounted.ts'

/** One column of the matrix. */
export interface Runtime {
  name: string
  /** Where its program is, below node_modules. */
  bin: string
  /** How it is started; the app's file comes last. */
  args: readonly string[]
  /** What it says of itself. */
  says: string
  /** The app under test: a file of ./app, bundled. */
  app: string
  host?: Host
}

const node = (version: number, app = 'node.mjs'): Runtime => ({
  name: `Node ${version}${app.endsWith('.cjs') ? ' (CommonJS)' : ''}`,
  bin: `node${version}/bin/node`,
  args: [],
  says: `Node v${version}`,
  app,
})

export const bun = { bin: onlyIn('@oven', 'bin/bun'), args: ['run'], says: 'Bun' }
export const deno = { bin: onlyIn('@deno', 'deno'), args: ['run', '--allow-all', '--no-lock'], says: 'Deno' }
export const workerd = {
  bin: onlyIn('@cloudflare', 'bin/workerd'),
  args: ['serve', '--control-fd=1'],
  says: 'Cloudflare',
}

/** Where the contract runs beside the Node of the tests. A new one joins by one line. */
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

/** Packages of one scope hold the same program for different systems; npm installs the one for this system. */
function onlyIn(scope: string, program: string): string {
  const folder = join(import.meta.dirname, 'node_modules', scope)
  const [system = 'none'] = existsSync(folder) ? readdirSync(folder) : []
  return join(scope, system, program)
}
