import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { ENTRIES, manifest, root } from './entries.ts'

/** Returns all modules that a source file imports, directly or indirectly, including types. Ignores comments. */
function importsOf(file: string, visited = new Map<string, string[]>()): string[] {
  if (!visited.has(file)) {
    const code = readFileSync(join(root, file), 'utf8')
    const imports = [
      ...code.matchAll(/^(?:import|export)\b[^'"`;]*?\bfrom '([^']+)'|\bimport\('([^']+)'\)/gm),
    ].flatMap(([, path, lazy]) => path ?? lazy ?? '')
    visited.set(file, imports)
    for (const path of imports) if (path.startsWith('.')) importsOf(join(dirname(file), path), visited)
  }
  return [...visited.values()].flat()
}

it('package.json exports only the entries and itself', () => {
  const names = [...ENTRIES.keys()].map((name) => (name === 'index' ? '.' : `./${name}`))
  const files = ['./package.json']
  expect(Object.keys(manifest.exports).sort()).toEqual([...names, ...files].sort())
  for (const file of files) expect(manifest.exports[file]).toBe(file)
})

it.each([...ENTRIES.keys()])(
  '%s has ESM and CommonJS exports, each with its types condition first',
  (name) => {
    const conditions = manifest.exports[name === 'index' ? '.' : `./${name}`]
    expect(JSON.stringify(conditions)).toBe(
      JSON.stringify({
        import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
        require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
      }),
    )
  },
)

it('every peer dependency but Express, whose types we do not need, is optional and imported by an entry', () => {
  const peers = Object.keys(manifest.peerDependencies).sort()
  expect(peers.length).toBeGreaterThan(0)
  expect(manifest.peerDependenciesMeta).toEqual(
    Object.fromEntries(peers.map((peer) => [peer, { optional: true }])),
  )
  const imports = new Set([...ENTRIES.values()].flatMap((source) => importsOf(source)))
  expect(peers.filter((peer) => !imports.has(peer))).toEqual(['express'])
})

it('no package is both a dependency and a peer dependency', () => {
  expect(Object.keys(manifest.dependencies).filter((name) => name in manifest.peerDependencies)).toEqual([])
})
