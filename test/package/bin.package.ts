import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createFolder } from '../helpers/cli.ts'
import { startNode } from '../helpers/process.ts'
import { root } from './entries.ts'

const clone = createFolder()
const run = (folder: string, args: string[]) =>
  startNode([join(folder, 'bin/geohook.js'), ...args], { SIGNATURE_KEY: 'parcels2026' }, { cwd: clone.path })

it('npx geohook runs the sources in a clone without a build, and otherwise the build', async () => {
  for (const path of ['bin', 'scripts/run-sources.mjs', 'src', 'package.json', 'tsconfig.json'])
    cpSync(join(root, path), join(clone.path, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(clone.path, 'node_modules'))
  const args = ['sign', 'package.json']
  const [sources, build] = [run(clone.path, args), run(root, args)]
  expect(await Promise.all([sources.exited, build.exited])).toEqual([0, 0])
  expect(sources.stderr).toBe('')
  expect(sources.stdout).toBe(build.stdout)
})
