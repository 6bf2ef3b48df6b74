// Installs the native drivers listed in scripts/drivers/package.json, compiled for this Node version, and links them into
// node_modules for the tests, examples and benchmarks. This is a separate script, so that `npm ci` needs no compiler.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('drivers/', import.meta.url))
// Overrides the .npmrc of the repository, which disables install scripts.
const args = ['ci', '--ignore-scripts=false', '--no-audit', '--no-fund']
execFileSync('npm', args, { cwd: folder, stdio: 'inherit' })

const { dependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'))
for (const name of Object.keys(dependencies)) {
  const link = fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url))
  rmSync(link, { recursive: true, force: true })
  symlinkSync(`../scripts/drivers/node_modules/${name}`, link, 'junction')
}
