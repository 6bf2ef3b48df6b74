// Fails if a setting, tool or document names a path or a pattern that matches no file of the repository. Otherwise a
// moved test would drop out of a selection without notice, because the rest of the selection still passes.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** Files that are not checked: they name files of users, earlier files, or files relative to their own folder. */
const UNCHECKED =
  /^((src|test|examples|docs\/api|bench\/results|scripts\/fuzz\/corpus)\/|CHANGELOG)|(^|\/)package-lock\.json$/

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)

/** The files of the repository, also those that are not committed yet. */
export const listFiles = () =>
  git('ls-files', '--cached', '--others', '--exclude-standard').filter((path) => existsSync(path))

/** Replaces `{a,b}` and `(a|b)` by their alternatives. From `!(a|b)` also makes a and b: what is excluded must exist. */
function expand(pattern) {
  const [whole, braces, not, group, optional] = /\{([^{}]*)\}|(!)?\(([^()]*)\)(\?)?/.exec(pattern) ?? []
  if (whole === undefined) return [pattern]
  const parts = braces === undefined ? group.split('|') : braces.split(',')
  return [...(not ? ['*'] : []), ...(optional ? [''] : []), ...parts].flatMap((part) =>
    expand(pattern.replace(whole, () => part)),
  )
}

/** Returns the patterns that match no file, not even its beginning, and no file that git ignores. */
export function unmatched(patterns, files = listFiles()) {
  return patterns.flatMap(expand).filter((pattern) => {
    const source = pattern
      .replace(/[()\\].*/, '')
      .replace(/[.+?^$|[\]]/g, '\\$&')
      .replaceAll('**/', '(.+/)?')
      .replace(/\*+/g, '[^/]*')
    const expression = new RegExp(`^${source}`)
    if (files.some((path) => expression.test(path))) return false
    return spawnSync('git', ['check-ignore', pattern, `${pattern}/`]).status !== 0
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const files = listFiles()
  const folders = [...new Set(files.map((path) => path.split('/')[0]))].join('|')
  const path = new RegExp(`(?<![\\w./@$!-])(?:\\./)?((?:${folders})/[\\w./*{},!()|?\\\\-]*[\\w/*})])`, 'g')
  let count = 0
  for (const file of files.filter((name) => !UNCHECKED.test(name))) {
    for (const [, found] of readFileSync(file, 'utf8').matchAll(path)) {
      count++
      for (const pattern of unmatched([found], files)) {
        console.error(`${file} names ${pattern}, which matches no file`)
        process.exitCode = 1
      }
    }
  }
  console.log(`${count} paths in settings, tools and documents`)
}
