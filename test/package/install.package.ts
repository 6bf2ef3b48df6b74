import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './entries.ts'

interface LockedPackage {
  engines?: { node?: string }
  dev?: true
  optional?: true
  resolved?: string
  hasInstallScript?: true
}

const readLock = (path: string): Record<string, LockedPackage> =>
  JSON.parse(readFileSync(join(root, path), 'utf8')).packages

const LOCKS = execFileSync('git', ['ls-files', '*package-lock.json'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')

/** Packages that do not need their install script, because npm installs their binaries as separate packages. */
const WORK_WITHOUT_SCRIPT = ['esbuild', 'msgpackr-extract']

describe('npm ci', () => {
  it.each(LOCKS)("downloads from the user's registry: %s contains no URLs", (path) => {
    const packages = Object.entries(readLock(path))
    expect(packages.length).toBeGreaterThan(1)
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })

  it('needs no compiler, because no package depends on its install script', () => {
    const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(allowScripts).toEqual(Object.fromEntries(WORK_WITHOUT_SCRIPT.map((name) => [name, false])))
    const withScript = Object.entries(readLock('package-lock.json'))
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect([...new Set(withScript)].sort()).toEqual(WORK_WITHOUT_SCRIPT)
  })

  it("runs no script when a user installs geohook, neither geohook's own nor one of a dependency", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(Object.keys(scripts).filter((name) => /install$/.test(name))).toEqual([])
    const ofUsers = Object.values(readLock('package-lock.json')).filter(
      ({ dev, optional }) => !dev && !optional,
    )
    expect(ofUsers.length).toBeGreaterThan(5)
    expect(ofUsers.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([])
  })

  it('prints no EBADENGINE warning on Node 20', () => {
    const tooNew = Object.entries(readLock('package-lock.json'))
      .filter(([, { engines, optional }]) => !optional && /^>=\s*(2[1-9]|[3-9]\d)/.test(engines?.node ?? ''))
      .map(([path]) => path)
    expect(tooNew).toEqual([])
  })
})
