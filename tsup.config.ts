import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import entry from './entries.json' with { type: 'json' }

const withTypes = !process.argv.includes('--no-dts')

// tsup's option `clean` would not work here, because each build below would remove the files of the others.
rmSync('dist', { recursive: true, force: true })

/** Keeps the package's entries out of the command line's bundle, where a copy would be a second WebhookError class. */
const externalEntries: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'external-entries',
  setup({ onResolve }) {
    const outputs = new Map(Object.entries(entry).map(([name, path]) => [resolve(path), `./${name}.js`]))
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const output = outputs.get(resolve(resolveDir, path))
      return output === undefined ? undefined : { path: output, external: true }
    })
  },
}

/** Replaces `assets.ts`, which reads files, by their contents, so that every bundle contains them. */
const inlineAssets: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'inline-assets',
  setup({ onLoad }) {
    onLoad({ filter: /inspector[\\/]assets\.ts$/ }, ({ path }) => {
      const folder = resolve(dirname(path), 'assets')
      const files = readdirSync(folder).map((name) => [name, readFileSync(resolve(folder, name), 'utf8')])
      return { contents: `export const FILES = ${JSON.stringify(Object.fromEntries(files))}` }
    })
  },
}

/**
 * Makes the main entry five files, because Node takes longer to load a file than to run its code. esbuild writes modules
 * that the same entries load into one chunk, so here all entries load the receiver, and share three large chunks instead
 * of a dozen small ones. Not in these chunks is `explain`: bundles that do not call it would still contain its code.
 * `geohook/changes` does not load the receiver, because it must stay small in browsers.
 */
const joinChunks: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'join-chunks',
  setup({ onLoad, onResolve }) {
    const { changes, ...others } = entry
    const receiver = ['src/receiver/create-receiver.ts', 'src/signature/sign.ts']
    const added = new Map(Object.values(others).map((path) => [resolve(path), receiver]))
    added.set(resolve(changes, '../engine.ts'), ['src/receiver/option-values.ts'])
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const imports = added.get(path)?.map((path) => `\nimport ${JSON.stringify(resolve(path))}`)
      return imports && { contents: readFileSync(path, 'utf8') + imports.join(''), loader: 'ts' }
    })
    // The inspector and the mock service get a copy, so that `explain` is in the file of the main entry.
    onResolve({ filter: /\/receiver\/explain\.ts$/ }, ({ path, importer, resolveDir }) => {
      const isCopied = /src[\\/](inspector|mock)[\\/]/.test(importer)
      return isCopied ? { path: resolve(resolveDir, path), suffix: '?copy' } : undefined
    })
  },
}

export default defineConfig([
  {
    entry,
    external: ['#hmac', '#platform', '#diagnose', /^node:/],
    format: ['esm', 'cjs'],
    // Creates shared chunks, so that all entries of a format have the same WebhookError class.
    splitting: true,
    target: 'node20',
    platform: 'neutral',
    // Without the `node:` prefix, bundlers would take "stream" for a package, and some runtimes would not find it.
    removeNodeProtocol: false,
    esbuildPlugins: [inlineAssets, joinChunks],
    esbuildOptions(options) {
      options.logOverride = { 'ignored-bare-import': 'silent' } // of joinChunks
    },
    dts: withTypes ? { entry } : false,
  },
  {
    // "imports" in package.json selects one of these files. Each contains copies of the few functions that it imports.
    entry: {
      'runtime.node': 'src/runtimes/node.ts',
      'runtime.compatible': 'src/runtimes/compatible.ts',
      'runtime.web': 'src/runtimes/web.ts',
    },
    external: [/^node:/],
    format: ['esm', 'cjs'],
    splitting: false,
    target: 'node20',
    platform: 'neutral',
    removeNodeProtocol: false,
  },
  {
    // A separate bundle that contains copies of its imports; see src/receiver/explain.ts.
    entry: { diagnose: 'src/explain/diagnose.ts' },
    external: ['#hmac', '#platform'],
    format: ['esm', 'cjs'],
    splitting: false,
    target: 'node20',
    platform: 'neutral',
  },
  {
    entry: { cli: 'src/cli/main.ts' },
    format: 'esm',
    // Creates a chunk for each dynamic import, so that commands are loaded on demand.
    splitting: true,
    target: 'node20',
    platform: 'node',
    removeNodeProtocol: false,
    esbuildPlugins: [externalEntries],
    esbuildOptions(options) {
      options.chunkNames = 'cli-[name]-[hash]'
    },
  },
])
