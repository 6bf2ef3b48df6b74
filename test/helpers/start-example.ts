import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Started, startNode } from './process.ts'

interface Manifest {
  type: string
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies?: Record<string, string>
}

export const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/**
 * Arguments of Node, relative to the example's folder, in place of those in its package.json. Examples for hosts that
 * are not on npm run on the simulated hosts in `test/helpers/hosts`.
 */
const ARGS: Readonly<Record<string, string[]>> = {
  google: [
    '--import=../../test/helpers/hosts/loopback.mjs',
    '../../node_modules/.bin/functions-framework',
    '--target=parcels',
    '--port=3000',
  ],
  azure: ['--import', 'tsx', '../../test/helpers/hosts/azure.ts', 'functions.js'],
}

/** Starts an example as its package.json says, on a free port. */
export function startExample(
  name: string,
  env: Record<string, string | undefined> = {},
  key: string,
): Started {
  const cwd = join('examples', name)
  const [program, ...rest] = manifestOf(cwd).scripts.start?.split(' ') ?? []
  const args = ARGS[name]
  if (!args) expect(program).toBe('node')
  return startNode(args ?? rest, { ...env, SIGNATURE_KEY: key, PORT: '0' }, { cwd })
}
