import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { manifest, root } from './entries.ts'

/** The part of a bundle that is loaded at startup, without dynamic imports. */
export interface Bundle {
  readonly inputs: readonly string[]
  /** Packages and built-in modules that the bundle imports. */
  readonly externals: readonly string[]
  /** Size of the code in bytes, minified and gzipped. */
  readonly bytes: number
}

/** Bundles files in `dist` for browsers. */
export async function bundle(...files: readonly string[]): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: files.map((file) => join(root, 'dist', file)),
    absWorkingDir: root,
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['browser'],
    external: [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies), 'node:*'],
    outdir: 'out',
    write: false,
    metafile: true,
    tsconfigRaw: {}, // ignores the project's `tsconfig.json`, which maps `#runtime` to its source
    logLevel: 'error',
  })
  const loaded = new Set<string>()
  for (const file of files) addStaticImports(metafile, `out/${file}`, loaded)
  const code = outputFiles
    .filter(({ path }) => loaded.has(path.slice(root.length)))
    .map(({ contents }) => contents)
  const outputs = [...loaded].map((path) => metafile.outputs[path])
  return {
    inputs: outputs.flatMap((output) => Object.keys(output?.inputs ?? {})),
    externals: outputs.flatMap(
      (output) => output?.imports.filter(({ external }) => external).map(({ path }) => path) ?? [],
    ),
    bytes: gzipSync(Buffer.concat(code), { level: 9 }).length,
  }
}

/** Adds an output file and its static imports, recursively. */
function addStaticImports({ outputs }: Pick<Metafile, 'outputs'>, path: string, added: Set<string>): void {
  if (added.has(path)) return
  added.add(path)
  for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
    if (kind === 'import-statement' && outputs[imported]) addStaticImports({ outputs }, imported, added)
  }
}
