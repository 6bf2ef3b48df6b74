// Packs the package in two fresh clones of HEAD, each in its own folder and after its own `npm ci`. Fails if npm prints
// a warning about the package, or if the tarballs differ.
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './package/run.mjs'

/** Warnings about the settings of this machine are not about the package. */
const ABOUT_MACHINE = /^npm warn Unknown \w+ config/

const folder = mkdtempSync(join(tmpdir(), 'geohook-clone-'))

async function npm(cwd, ...args) {
  const { stderr } = await run('npm', args, { cwd, both: true, timeout: 600_000 })
  const warnings = stderr.split('\n').filter((line) => /\bwarn/i.test(line) && !ABOUT_MACHINE.test(line))
  if (warnings.length > 0) throw new Error(`npm ${args[0]} prints:\n${warnings.join('\n')}`)
}

/** Clones, installs and packs as a maintainer does. Resolves with the SHA-256 of the tarball. */
async function packClone(name) {
  const clone = join(folder, name)
  await run('git', ['clone', '--quiet', '.', clone])
  const { version } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  await npm(clone, 'ci', '--prefer-offline', '--no-audit', '--no-fund')
  await npm(clone, 'pack')
  const tarball = readFileSync(join(clone, `geohook-${version}.tgz`))
  return createHash('sha256').update(tarball).digest('hex')
}

try {
  const hashes = [await packClone('first'), await packClone('the-second-with-another-path')]
  for (const hash of hashes) console.log(`${hash}  npm pack in a fresh clone`)
  if (hashes[0] !== hashes[1]) throw new Error('Two clones of the same commit give two different tarballs.')
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
