import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { run } from './run.mjs'

/** Packs the package like `npm publish`. Throws if the tarball lacks a necessary file or has an unnecessary one. */
export async function pack(folder) {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [{ filename, files, size, unpackedSize }] = JSON.parse(await run('npm', args))
  const packed = files.map(({ path }) => path)
  const needed = new Set([...(await documents()), ...neededBy(manifest)])
  failIfAny(
    'The tarball contains files that no entry or command needs, and that are not in the repository',
    packed.filter((path) => !needed.has(path)),
  )
  failIfAny(
    'The tarball lacks documents of the repository, or files that an entry or a command needs (run npm run build)',
    [...needed].filter((path) => !packed.includes(path)),
  )
  return { tarball: join(folder, filename), count: packed.length, size, unpackedSize }
}

/** Returns package.json and all documents and examples in the repository that users should have. */
async function documents() {
  const paths = [
    'package.json',
    ':(glob)*.md',
    ':!CONTRIBUTING.md',
    'llms.txt',
    'webhooks.schema.json',
    'LICENSE',
    'docs',
    ':!docs/api',
    ':!docs/pictures',
    ':!docs/architecture.md',
    ':!docs/performance.md',
    'examples',
  ]
  const tracked = await run('git', ['ls-files', '--', ...paths])
  return tracked.trim().split('\n')
}

function failIfAny(message, paths) {
  if (paths.length > 0) throw new Error(`${message}:\n${paths.map((path) => `  ${path}`).join('\n')}`)
}

/** Returns the files that package.json refers to, and all files that these import. */
function neededBy({ exports, imports, bin }) {
  const needed = new Set()
  // The command in bin loads dist/cli.js if it exists, and otherwise the sources, which are not packed.
  const own = [exports, imports, bin, 'dist/cli.js', 'dist/packages/LICENSES.txt']
  const queue = leavesOf(own).map((path) => posix.normalize(path))
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (needed.has(path)) continue
    needed.add(path)
    // Each of dist/packages is one file with all it needs.
    if (/^(bin\/|dist\/(?!packages\/))/.test(path)) queue.push(...importsOf(path))
  }
  return needed
}

const leavesOf = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(leavesOf))

/** The modules of the inspector's page are text inside the bundles, with imports for the browser. */
const PAGE_MODULES = readdirSync('src/inspector/assets').map((name) => `./${name}`)

function importsOf(path) {
  let code = ''
  try {
    code = readFileSync(path, 'utf8')
  } catch {
    return [] // pack() reports the missing file
  }
  return [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\(\s*)["'](\.[^"']+)["']/g)]
    .map(([, relative]) => relative)
    .filter((relative) => !PAGE_MODULES.includes(relative))
    .map((relative) => {
      const file = posix.join(posix.dirname(path), relative)
      // Declaration files import `./a.js`, which means `./a.d.ts`.
      return /\.d\.c?ts$/.test(basename(path)) ? file.replace(/\.(c?)js$/, '.d.$1ts') : file
    })
}
