import { readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { run } from './run.mjs'

/** Packs the package as it would be published, and checks that it holds what users need and nothing else. */
export async function pack(folder) {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [{ filename, files, size, unpackedSize }] = JSON.parse(await run('npm', args))
  const packed = files.map(({ path }) => path)
  const needed = new Set(['package.json', 'README.md', 'LICENSE', ...neededBy(manifest)])
  complain(
    'The tarball has files that no entry and no command needs',
    packed.filter((path) => !needed.has(path)),
  )
  complain(
    'The tarball lacks files that an entry or a command needs (is dist built, with its types?)',
    [...needed].filter((path) => !packed.includes(path)),
  )
  return { tarball: join(folder, filename), count: packed.length, size, unpackedSize }
}

function complain(what, paths) {
  if (paths.length > 0) throw new Error(`${what}:\n${paths.map((path) => `  ${path}`).join('\n')}`)
}

/** Everything that package.json names, and what those files import. */
function neededBy({ exports, imports, bin }) {
  const seen = new Set()
  const queue = leavesOf([exports, imports, bin]).map((path) => posix.normalize(path))
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    if (path.startsWith('dist/')) queue.push(...importsOf(path))
  }
  return seen
}

const leavesOf = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(leavesOf))

function importsOf(path) {
  let code = ''
  try {
    code = readFileSync(path, 'utf8')
  } catch {
    return [] // it is missing in the tarball too, which is said there
  }
  return [...code.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\(\s*)["'](\.[^"']+)["']/g)].map(
    ([, relative]) => {
      const file = posix.join(posix.dirname(path), relative)
      // Types are imported by the name of the code that they describe.
      return /\.d\.c?ts$/.test(basename(path)) ? file.replace(/\.(c?)js$/, '.d.$1ts') : file
    },
  )
}
