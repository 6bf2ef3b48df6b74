import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { bundle } from './bundle.ts'
import { ADAPTERS, root } from './entries.ts'

it('the main entry for browsers is under 16 KB and imports no built-in modules', async () => {
  const { inputs, externals, bytes } = await bundle('index.js')
  expect(bytes).toBeLessThan(16 * 1024)
  expect(externals).toEqual([])
  expect(inputs.filter((input) => input.includes('runtime.'))).toEqual(['dist/runtime.web.js'])
})

it.each(['hono.js', 'h3.js', 'azure.js'])(
  '%s for browsers and workers imports no built-in modules and no framework',
  async (entry) => {
    const { inputs, externals, bytes } = await bundle(entry)
    expect(bytes).toBeLessThan(14.9 * 1024)
    expect(externals).toEqual([])
    expect(inputs.filter((input) => /node_modules|\.node\./.test(input))).toEqual([])
  },
)

it('a bundler without code splitting omits explain if the receiver does not call it', async () => {
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
  expect(gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length).toBeLessThan(15.7 * 1024)
})

it('explain is loaded only when it is called', async () => {
  const { inputs } = await bundle('index.js')
  expect(inputs.filter((input) => input.includes('diagnose'))).toEqual([])
  expect(readdirSync(join(root, 'dist')).filter((name) => /^diagnose.*\.js$/.test(name)).length).toBe(1)
})

it.each([
  ['createChanges', 'changes.js', 19.7],
  ['createAdmin, signIn', 'admin.js', 17.2],
  ['packDelivery', 'inbox.js', 4],
  ['unpackDelivery', 'inbox.js', 4],
])('%s of %s is under %s KB, and needs no built-in module', async (name, file, size) => {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { ${name} } from './dist/${file}'
        console.log(${name})`,
      resolveDir: root,
    },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['browser'],
    write: false,
    tsconfigRaw: {},
    logLevel: 'error',
  })
  expect(gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length).toBeLessThan(size * 1024)
})

it.each(['changes.js', 'admin.js'])('%s imports no built-in modules and no packages', async (file) => {
  const { externals } = await bundle(file)
  expect(externals).toEqual([])
})

/** Measures the gzipped size that an entry adds to the main entry, without Node's built-in modules. */
describe('in addition to the main entry', async () => {
  const main = await bundle('index.js')

  it.each([...ADAPTERS.map((name): [string, number] => [name, name === 'node' ? 3.6 : 3.1]), ['otel', 3.5]])(
    '%s is under %s KB',
    async (name, size) => {
      const { bytes, inputs } = await bundle('index.js', `${name}.js`)
      expect(inputs).toContain(`dist/${name}.js`)
      expect(bytes - main.bytes).toBeLessThan(size * 1024)
    },
  )
})
