// Packs the last build in this folder, and a fresh clone of HEAD after its own `npm ci`. Fails if npm prints a warning
// about the package, or if the tarballs differ.
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.mjs'

/** Warnings about the settings of this machine are not about the package. */
const ABOUT_MACHINE = /^npm warn Unknown \w+ config/

const folder = mkdtempSync(join(tmpdir(), 'geohook-clone-'))

async function npm(cwd, ...args) {
  const { stderr } = await run('npm', args, { cwd, both: true, timeout: 600_000 })
  const warnings = stderr.split('\n').filter((line) => /\bwarn/i.test(line) && !ABOUT_MACHINE.test(line))
  if (warnings.length > 0) throw new Error(`npm ${args[0]} prints:\n${warnings.join('\n')}`)
}

/** Packs as a maintainer does. Resolves with the SHA-256 of the tarball. */
async function pack(cwd, ...args) {
  await npm(cwd, 'pack', '--pack-destination', folder, ...args)
  const { version } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
  const tarball = readFileSync(join(folder, `geohook-${version}.tgz`))
  return createHash('sha256').update(tarball).digest('hex')
}

async function packClone() {
  const clone = join(folder, 'clone')
  await run('git', ['clone', '--quiet', '.', clone])
  await npm(clone, 'ci', '--prefer-offline', '--no-audit', '--no-fund')
  return pack(clone)
}

try {
  const here = await pack('.', '--ignore-scripts')
  console.log(`${here}  the last build in this folder`)
  const clone = await packClone()
  console.log(`${clone}  npm pack in a fresh clone`)
  if (here !== clone)
    throw new Error('The same commit gives two different tarballs. Commit, and run npm run build.')
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
