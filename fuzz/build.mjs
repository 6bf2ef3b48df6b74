import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { findWords, instrument } from './instrument.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const resolved = {
  '#hmac': 'src/signature/hmac.node.ts',
  '#platform': 'src/platform/platform.node.ts',
  '#diagnose': 'src/explain/diagnose.ts',
}

/**
 * Bundles a target with its copy of `src`, and adds counters to the files that it covers.
 *
 * @returns the path of the bundle, the number of counters, and the words of the covered files
 */
export async function bundle(entry, covers) {
  const outfile = join(root, `fuzz/.build/${relative(root, entry).replaceAll(/\W/g, '-')}-${process.pid}.mjs`)
  const words = new Set()
  const ids = []
  const counters = {
    name: 'counters',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^#/ }, ({ path }) => ({ path: join(root, resolved[path]) }))
      onLoad({ filter: /\.(ts|mjs)$/ }, async ({ path }) => {
        const name = relative(root, path)
        const source = await readFile(path, 'utf8')
        const { code } = await transform(source, { loader: 'ts', target: 'node20' })
        if (!covers.some((folder) => name.startsWith(folder))) return { contents: code, loader: 'js' }
        for (const word of findWords(code)) words.add(word)
        return { contents: instrument(code, () => ids.push(name) - 1), loader: 'js' }
      })
    },
  }
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    banner: { js: 'const __hits = globalThis.fuzzHits;' },
    plugins: [counters],
    logLevel: 'error',
  })
  const covered = (folder) => ids.some((name) => name.startsWith(folder))
  const missing = covers.filter((folder) => !covered(folder))
  if (missing.length > 0) throw new Error(`${entry} loads no file with a branch in ${missing.join(', ')}`)
  return { outfile, counters: ids.length, words: [...words], remove: () => rm(outfile, { force: true }) }
}

export { root }
