import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { TestProject } from 'vitest/node'

const here = import.meta.dirname
const root = join(here, '../..')

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder with the apps under test. The package is installed there from its tarball. */
    appFolder: string
  }
}

/** Installs the runtimes, installs the package from its tarball, and builds the apps under test. */
export async function setup({ provide }: TestProject): Promise<() => void> {
  npm(isInstalled() ? ['ci', '--dry-run'] : ['ci', '--ignore-scripts'], here)
  const folder = mkdtempSync(join(tmpdir(), 'geohook-runtimes-'))
  if (process.env.KEEP_BUILD !== 'true') {
    const tsup = join(root, 'node_modules/tsup/dist/cli-default.js')
    execFileSync(process.execPath, [tsup, '--no-dts', '--silent'], { cwd: root, stdio: 'inherit' })
  }
  const packed = npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root)
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  npm(['install', '--ignore-scripts', '--prefer-offline', join(folder, filename)], folder)
  const bundle = (names: string[], format: 'esm' | 'cjs', options: Parameters<typeof build>[0] = {}) =>
    build({
      entryPoints: names.map((name) => join(here, `app/${name}.ts`)),
      outdir: folder,
      outExtension: { '.js': format === 'esm' ? '.mjs' : '.cjs' },
      bundle: true,
      format,
      platform: 'node',
      target: 'es2022',
      external: ['geohook', 'geohook/*'],
      tsconfigRaw: {},
      logLevel: 'error',
      ...options,
    })
  await bundle(['node', 'bun', 'deno', 'sqlite', 'inspector'], 'esm')
  await bundle(['node'], 'cjs')
  // A worker is a single file that includes the package.
  await bundle(['worker'], 'esm', {
    external: [],
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    nodePaths: [join(folder, 'node_modules')],
  })
  copyFileSync(join(here, 'app/worker.capnp'), join(folder, 'worker.capnp'))
  provide('appFolder', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}

/** True if the runtimes were installed after the last change of the lock file. */
function isInstalled(): boolean {
  const installed = join(here, 'node_modules/.package-lock.json')
  return (
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(here, 'package-lock.json')).mtimeMs
  )
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync('npm', [...args, '--no-audit', '--no-fund'], { cwd, encoding: 'utf8' })
}
