import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/** Bundles a built entry as a browser bundler does, and gives what must be loaded at once. */
async function bundle(entry: string): Promise<{ inputs: string[]; externals: string[]; bytes: number }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(root, 'dist', entry)],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['browser'],
    outdir: 'out',
    write: false,
    metafile: true,
    tsconfigRaw: {}, // not this project's own, which points #hmac to its source
    logLevel: 'error',
  })
  const loaded = reach(metafile, `out/${entry}`)
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

/** An output and what it imports, but for what it loads later, when asked. */
function reach({ outputs }: Pick<Metafile, 'outputs'>, path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
    if (kind === 'import-statement' && outputs[imported]) reach({ outputs }, imported, seen)
  }
  return seen
}

it('the main entry for browsers is under 8,000 bytes and loads nothing of Node', async () => {
  const { inputs, externals, bytes } = await bundle('index.js')
  expect(bytes).toBeLessThan(8000) // "8 KB", whichever way a KB is counted
  expect(externals).toEqual([])
  expect(inputs.some((input) => input.includes('hmac.web'))).toBe(true)
  expect(inputs.some((input) => input.includes('hmac.node'))).toBe(false)
})

it.each(['hono.js', 'h3.js', 'azure.js'])(
  '%s for browsers and workers loads nothing of Node, and no framework',
  async (entry) => {
    const { inputs, externals, bytes } = await bundle(entry)
    expect(bytes).toBeLessThan(8.5 * 1024)
    expect(externals).toEqual([])
    expect(inputs.filter((input) => /node_modules|hmac\.node/.test(input))).toEqual([])
  },
)

it('a bundler that does not split code leaves explain out of a receiver that does not call it', async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { createReceiver } from './dist/index.js'
        export default { fetch: createReceiver({ signatureKey: 'k' }).on('*', () => {}).fetch }`,
      resolveDir: root,
    },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'browser'],
    write: false,
    tsconfigRaw: {},
    logLevel: 'error',
  })
  expect(gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length).toBeLessThan(8000)
})

it('explain is loaded only when it is called', async () => {
  const { inputs } = await bundle('index.js')
  expect(inputs.filter((input) => input.includes('diagnose'))).toEqual([])
  expect(readdirSync(join(root, 'dist')).filter((name) => /^diagnose.*\.js$/.test(name)).length).toBe(1)
})

it('nothing but the file for Node imports a built-in module in the main entry', () => {
  for (const name of readdirSync(join(root, 'dist')).filter((file) => /\.(js|cjs)$/.test(file))) {
    const isForNode = /^(hmac\.node|node|express|testing|mock)\./.test(name)
    const code = readFileSync(join(root, 'dist', name), 'utf8')
    if (!isForNode && /["']node:/.test(code)) {
      // A shared chunk of the Node adapters is fine as long as the main entry does not load it.
      expect(readFileSync(join(root, 'dist/index.js'), 'utf8')).not.toContain(name)
    }
  }
})
