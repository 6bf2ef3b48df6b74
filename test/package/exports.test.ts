import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { ENTRIES, manifest, root } from './entries.ts'

/** Everything that a source file and the files behind it import, as types or as values; examples in comments do not count. */
function importsOf(file: string, seen = new Map<string, string[]>()): string[] {
  if (!seen.has(file)) {
    const code = readFileSync(join(root, file), 'utf8')
    const imports = [...code.matchAll(/^(?:import|export)\b[^'"`;]*?\bfrom '([^']+)'/gm)].flatMap(
      ([, path = '']) => path,
    )
    seen.set(file, imports)
    for (const path of imports) if (path.startsWith('.')) importsOf(join(dirname(file), path), seen)
  }
  return [...seen.values()].flat()
}

it('package.json exports the entries, and nothing else but itself', () => {
  const names = [...ENTRIES.keys()].map((name) => (name === 'index' ? '.' : `./${name}`))
  expect(Object.keys(manifest.exports).sort()).toEqual([...names, './package.json'].sort())
  expect(manifest.exports['./package.json']).toBe('./package.json')
})

it.each([...ENTRIES.keys()])('%s has an ESM and a CommonJS side, each with its own types first', (name) => {
  const conditions = manifest.exports[name === 'index' ? '.' : `./${name}`]
  expect(JSON.stringify(conditions)).toBe(
    JSON.stringify({
      import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
      require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
    }),
  )
})

it('every peer is optional, and an entry has use for it', () => {
  const peers = Object.keys(manifest.peerDependencies).sort()
  expect(peers.length).toBeGreaterThan(0)
  expect(manifest.peerDependenciesMeta).toEqual(
    Object.fromEntries(peers.map((peer) => [peer, { optional: true }])),
  )
  const imports = new Set([...ENTRIES.values()].flatMap((source) => importsOf(source)))
  expect(peers.filter((peer) => !imports.has(peer))).toEqual([])
})

it('no package is both a dependency and a peer', () => {
  expect(Object.keys(manifest.dependencies).filter((name) => name in manifest.peerDependencies)).toEqual([])
})
