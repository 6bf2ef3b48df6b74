import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { manifest, root } from './entries.ts'

/** What a bundler makes of some entries, as far as it must be loaded at once. */
export interface Bundle {
  readonly inputs: readonly string[]
  /** Packages and built-in modules, which stay outside. */
  readonly externals: readonly string[]
  /** Minified and gzipped. */
  readonly bytes: number
}

/** Bundles files of dist as a bundler for browsers does. */
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
    tsconfigRaw: {}, // not this project's own, which points #hmac to its source
    logLevel: 'error',
  })
  const loaded = new Set<string>()
  for (const file of files) reach(metafile, `out/${file}`, loaded)
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

/** Notes an output and what it imports, but for what it loads later, when asked. */
function reach({ outputs }: Pick<Metafile, 'outputs'>, path: string, seen: Set<string>): void {
  if (seen.has(path)) return
  seen.add(path)
  for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
    if (kind === 'import-statement' && outputs[imported]) reach({ outputs }, imported, seen)
  }
}
