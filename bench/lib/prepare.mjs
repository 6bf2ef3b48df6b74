import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const bench = join(root, 'bench')

/** Builds the package, and installs the packages of the benchmarks if needed. */
export function prepare() {
  if (process.env.KEEP_BUILD !== 'true') {
    const build = [join(root, 'node_modules/tsup/dist/cli-default.js'), '--no-dts', '--silent']
    execFileSync(process.execPath, build, { cwd: root, stdio: 'inherit' })
  }
  if (!isInstalled())
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: bench,
      stdio: 'inherit',
    })
  linkGeohook()
}

/** Makes `geohook` a package of the benchmarks, so that it can be imported by name like the others. */
function linkGeohook() {
  const link = join(bench, 'node_modules/geohook')
  rmSync(link, { force: true })
  symlinkSync(root, link, 'junction')
}

/** True if the packages were installed after the last change of the lock file. */
function isInstalled() {
  const installed = join(bench, 'node_modules/.package-lock.json')
  return (
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(bench, 'package-lock.json')).mtimeMs
  )
}
