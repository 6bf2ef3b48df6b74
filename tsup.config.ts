import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import entry from './entries.json' with { type: 'json' }

const withTypes = !process.argv.includes('--no-dts')

// Here, and not with `clean`: each of the two builds would remove what the other has written.
rmSync('dist', { recursive: true, force: true })

/** The command line loads the built entries, as users do; a copy of them would be a second WebhookError class. */
const entriesStayOutside: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'entries-stay-outside',
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
      // Their two sides: which one is taken is decided where geohook is used, by "imports" in package.json.
      'hmac.node': 'src/signature/hmac.node.ts',
      'hmac.web': 'src/signature/hmac.web.ts',
      'platform.node': 'src/receiver/platform.node.ts',
      'platform.web': 'src/receiver/platform.web.ts',
    },
    external: ['#hmac', '#platform', '#diagnose', /^node:/],
    format: ['esm', 'cjs'],
    // Shared chunks, so that a WebhookError is the same class in every entry of a format.
    splitting: true,
    target: 'node20',
    platform: 'neutral',
    // "node:stream" stays so: a plain "stream" is a package of that name to bundlers, and nothing to some runtimes.
    removeNodeProtocol: false,
    dts: withTypes ? { entry } : false,
  },
  {
    // By itself, with copies of what it needs: see src/signature/explain.ts.
    entry: { diagnose: 'src/signature/explain/diagnose.ts' },
    format: ['esm', 'cjs'],
    splitting: false,
    target: 'node20',
    platform: 'neutral',
  },
  {
    entry: { cli: 'src/cli/main.ts' },
    format: 'esm',
    // Each command is loaded when it is called.
    splitting: true,
    target: 'node20',
    platform: 'node',
    removeNodeProtocol: false,
    esbuildPlugins: [entriesStayOutside],
    esbuildOptions(options) {
      options.chunkNames = 'cli-[name]-[hash]'
    },
  },
])
