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

export default defineConfig([
  {
    entry: {
      ...entry,
      // Platform modules. "imports" in package.json selects the Node or the web version at runtime.
      'hmac.node': 'src/signature/hmac.node.ts',
      'hmac.web': 'src/signature/hmac.web.ts',
      'platform.node': 'src/platform/platform.node.ts',
      'platform.web': 'src/platform/platform.web.ts',
    },
    external: ['#hmac', '#platform', '#diagnose', /^node:/],
    format: ['esm', 'cjs'],
    // Creates shared chunks, so that all entries of a format have the same WebhookError class.
    splitting: true,
    target: 'node20',
    platform: 'neutral',
    // Without the `node:` prefix, bundlers would take "stream" for a package, and some runtimes would not find it.
    removeNodeProtocol: false,
    esbuildPlugins: [inlineAssets],
    dts: withTypes ? { entry } : false,
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
