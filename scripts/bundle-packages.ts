// Copies packages, minified, into dist/packages, so that users install only raw-body. bundled-packages.json names what
// geohook uses of each, so that esbuild can leave out the rest.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import packages from './bundled-packages.json' with { type: 'json' }

const EXTENSIONS = { esm: 'js', cjs: 'cjs' }
type Format = keyof typeof EXTENSIONS
const fileOf = (name: string): string => name.replace(/^@|\/.*$/g, '')

/** An esbuild plugin that imports the packages from `dist/packages`. */
export const bundledPackages: Plugin = {
  name: 'bundled-packages',
  setup({ initialOptions, onResolve }) {
    // Not the format: tsup makes CommonJS from ES modules, to have shared chunks.
    const extension = initialOptions.outExtension?.['.js'] ?? '.js'
    const filter = new RegExp(`^(${Object.keys(packages).join('|')})$`)
    onResolve({ filter }, ({ path }) => ({ path: `./packages/${fileOf(path)}${extension}`, external: true }))
  },
}

/** Commander is CommonJS, and requires modules of Node. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url)'

/** Writes the packages as ES and CommonJS modules, and their licences, to `dist/packages`. */
export async function bundlePackages(): Promise<void> {
  const inputs = new Set<string>()
  for (const [format, extension] of Object.entries(EXTENSIONS) as [Format, string][])
    for (const [name, used] of Object.entries(packages)) {
      if (name === 'commander' && format === 'cjs') continue // the command line is an ES module
      // People write `z.string()`, and many of zod's functions have names of types or keywords.
      const contents =
        name === 'zod'
          ? `import * as zod from "zod"; export const z = { ${used.map((key) => `${key}: zod.${key}`)} }`
          : `export { ${used} } from "${name}"`
      const { metafile } = await build({
        stdin: { contents, resolveDir: '.' },
        bundle: true,
        minify: true,
        format,
        target: 'node20',
        platform: 'node',
        mainFields: ['module', 'main'],
        legalComments: 'none', // in LICENSES.txt
        banner: name === 'commander' ? { js: REQUIRE } : {},
        outfile: `dist/packages/${fileOf(name)}.${extension}`,
        metafile: true,
      })
      for (const input of Object.keys(metafile.inputs)) inputs.add(input)
    }
  const texts = foldersOf(inputs).map((folder) => {
    const { name, version, license, author, homepage } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
    const text = file
      ? readFileSync(join(folder, file), 'utf8').trim()
      : `The package has no licence file. Author: ${author}; see ${homepage}`
    return `${name} ${version} (${license})\n\n${text}\n`
  })
  writeFileSync('dist/packages/LICENSES.txt', texts.join(`\n${'-'.repeat(80)}\n\n`))
}

const foldersOf = (inputs: ReadonlySet<string>): string[] =>
  [...new Set([...inputs].flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))].sort()
