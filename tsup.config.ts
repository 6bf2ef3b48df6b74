import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { transformSync } from 'esbuild'
import { defineConfig, type Options } from 'tsup'
import { bundledPackages, bundlePackages } from './scripts/bundle-packages.ts'
import entry from './scripts/entries.json' with { type: 'json' }

const withTypes = !process.argv.includes('--no-dts')

// tsup's option `clean` would not work here, because each build below would remove the files of the others.
rmSync('dist', { recursive: true, force: true })
await bundlePackages()

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
 * Makes the main entry three files, because Node takes longer to load a file than to run its code. esbuild writes modules
 * that the same entries load into one chunk, so here all entries load the receiver, and share one large chunk instead of
 * a dozen small ones. `diagnose.ts` has a chunk of its own, which is loaded only when `explain` is called.
 */
const joinChunks: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'join-chunks',
  setup({ onLoad, onResolve }) {
    const files = [...Object.values(entry), 'src/explain/diagnose.ts'].map((path) => resolve(path))
    const receiver = ['src/receiver/receiver.ts', 'src/signature/signature.ts']
    const imports = receiver.map((path) => `\nimport ${JSON.stringify(resolve(path))}`).join('')
    onLoad({ filter: /\.ts$/ }, ({ path }) =>
      files.includes(path) ? { contents: readFileSync(path, 'utf8') + imports, loader: 'ts' } : undefined,
    )
    // The inspector and the mock service get a copy of `explain`, so that it is in the file of the main entry. The code of
    // `explain` gets copies of small functions, because bundlers would add what the large chunk exports for it to the
    // part that is loaded at once. The class WebhookError is never copied.
    onResolve({ filter: /\.ts$/ }, ({ path, importer, resolveDir }) => {
      const from = relative('.', importer)
      const isCopied =
        (/^src[\\/](inspector|mock|changes)[\\/]/.test(from) &&
          /\/(explain\/explain|receiver\/delivery)\.ts$/.test(path)) ||
        (/^src[\\/]explain[\\/](?!explain)/.test(from) && /\/signature\/(keyring|profiles)\.ts$/.test(path))
      return isCopied ? { path: resolve(resolveDir, path), suffix: '?copy' } : undefined
    })
  },
}

/** Leaves spaces out of the mock service, the largest file of the tarball, which has a limit. */
const smallMock: NonNullable<Options['plugins']>[number] = {
  name: 'small-mock',
  renderChunk: (code, { path }) =>
    /[\\/]mock\.c?js$/.test(path) ? transformSync(code, { minifyWhitespace: true }) : undefined,
}

export default defineConfig([
  {
    entry,
    plugins: [smallMock],
    external: ['#runtime', /^node:/],
    format: ['esm', 'cjs'],
    // Creates shared chunks, so that all entries of a format have the same WebhookError class.
    splitting: true,
    target: 'node20',
    platform: 'neutral',
    // Without the `node:` prefix, bundlers would take "stream" for a package, and some runtimes would not find it.
    removeNodeProtocol: false,
    esbuildPlugins: [bundledPackages, inlineAssets, joinChunks],
    esbuildOptions(options) {
      options.logOverride = { 'ignored-bare-import': 'silent' } // of joinChunks
    },
    dts: withTypes ? { entry } : false,
  },
  {
    // "imports" in package.json selects one of these files. Each contains copies of the few functions that it imports.
    entry: {
      'runtime.node': 'src/runtime/runtime.node.ts',
      'runtime.compatible': 'src/runtime/runtime.compatible.ts',
      'runtime.web': 'src/runtime/runtime.web.ts',
    },
    external: [/^node:/],
    format: ['esm', 'cjs'],
    splitting: false,
    target: 'node20',
    platform: 'neutral',
    removeNodeProtocol: false,
  },
  {
    // The tests import cli-run. It is no entry of the package.
    entry: { cli: 'src/cli/main.ts', 'cli-run': 'src/cli/run.ts' },
    format: 'esm',
    // Creates a chunk for each dynamic import, so that commands are loaded on demand.
    splitting: true,
    target: 'node20',
    platform: 'node',
    removeNodeProtocol: false,
    esbuildPlugins: [bundledPackages, externalEntries],
    esbuildOptions(options) {
      options.chunkNames = 'cli-[name]-[hash]'
    },
  },
])
