import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import entry from './entries.json' with { type: 'json' }

const withTypes = !process.argv.includes('--no-dts')

// Not with the option `clean`, because each of the builds would remove the files of the others.
rmSync('dist', { recursive: true, force: true })

/** Keeps the entries external to the command line, because a copy would be a second WebhookError class. */
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

export default defineConfig([
  {
    entry: {
      ...entry,
      // Platform modules. "imports" in package.json selects the side at runtime.
      'hmac.node': 'src/signature/hmac.node.ts',
      'hmac.web': 'src/signature/hmac.web.ts',
      'platform.node': 'src/receiver/platform.node.ts',
      'platform.web': 'src/receiver/platform.web.ts',
    },
    external: ['#hmac', '#platform', '#diagnose', /^node:/],
    format: ['esm', 'cjs'],
    // Shared chunks, so that all entries of a format have the same WebhookError class.
    splitting: true,
    target: 'node20',
    platform: 'neutral',
    // Bundlers would take "stream" for a package, and some runtimes do not support it.
    removeNodeProtocol: false,
    dts: withTypes ? { entry } : false,
  },
  {
    // A separate bundle with copies of its imports: see src/signature/explain.ts.
    entry: { diagnose: 'src/signature/explain/diagnose.ts' },
    format: ['esm', 'cjs'],
    splitting: false,
    target: 'node20',
    platform: 'neutral',
  },
  {
    entry: { cli: 'src/cli/main.ts' },
    format: 'esm',
    // Loads each command on demand.
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
