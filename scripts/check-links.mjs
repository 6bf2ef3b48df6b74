// Checks the links between Markdown files: their targets must exist, also the headings that they name. Checks the
// repository, or the folder in the first argument, for example an unpacked tarball. Follows no links to the web.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { run } from './run.mjs'

const isDocument = (path) => /\.md$|(^|\/)llms\.txt$/.test(path)

/** Returns the dead links of all documents in a folder, as `file: link`. */
export async function deadLinks(root) {
  const paths = existsSync(join(root, '.git'))
    ? (await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })).split(
        '\n',
      )
    : readdirSync(root, { recursive: true })
  const documents = paths.filter(isDocument).map((path) => resolve(root, path))
  const texts = new Map(documents.map((path) => [path, withoutCode(readFileSync(path, 'utf8'))]))
  const dead = [...texts].flatMap(([path, text]) =>
    linksOf(text)
      .filter((link) => !/^(https?|mailto):/.test(link) && !isAlive(link, path, texts, resolve(root)))
      .map((link) => `${relative(root, path)}: ${link}`),
  )
  return { documents: documents.length, dead }
}

const withoutCode = (text) => text.replace(/^ *(```+)[^`\n]*\n.*?^ *\1 *$/gms, '')

/** Returns the targets of inline links, images, reference definitions, and HTML elements. */
function linksOf(text) {
  const prose = text.replace(/(`+)[^`].*?\1(?!`)/g, '`')
  return [
    ...prose.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g),
    ...prose.matchAll(/^ *\[[^\]]+\]: +(\S+)/gm),
    ...prose.matchAll(/<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"/g),
  ].map(([, target]) => target)
}

function isAlive(link, from, texts, root) {
  const [path, anchor] = link.split('#').map(decodeURIComponent)
  const target = path === '' ? from : resolve(dirname(from), path)
  if (!existsSync(target) || relative(root, target).startsWith('..')) return false
  return anchor === undefined || (texts.has(target) && anchorsOf(texts.get(target)).has(anchor))
}

/** Returns the anchors that GitHub and most other renderers give to headings, and those of `id` attributes. */
function anchorsOf(text) {
  const anchors = new Set([...text.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id))
  const seen = new Map()
  for (const [, heading] of text.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const plain = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\\/g, '')
    const slug = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { documents, dead } = await deadLinks(process.argv[2] ?? '.')
  for (const line of dead) console.error(`dead link in ${line}`)
  console.log(`${documents} documents, ${dead.length} dead links`)
  process.exitCode = dead.length > 0 ? 1 : 0
}
