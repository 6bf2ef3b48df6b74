// Writes docs/api, the reference of the public API, from the doc comments in src: one page for each entry of the
// package. Fails if an export has no doc comment, or a function or class no example. With --check, writes nothing, and
// fails if docs/api is not up to date.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Application, Converter, ReflectionKind } from 'typedoc'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'
import entries from './entries.json' with { type: 'json' }

const OUTPUT = 'docs/api'
const TITLE = 'API reference'
const VALUES = ReflectionKind.Function | ReflectionKind.Class | ReflectionKind.Variable
const importName = (page) => (page === 'geohook' ? 'geohook' : `geohook/${page}`)

/** Options of TypeDoc. The output has no dates, versions, source links or paths, so that it depends only on src. */
const OPTIONS = {
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: Object.values(entries),
  tsconfig: 'tsconfig.json',
  name: TITLE,
  readme: 'none',
  router: 'module',
  disableSources: true,
  excludeExternals: true,
  groupOrder: ['Functions', 'Classes', 'Variables', 'Interfaces', 'Type Aliases'],
  sort: ['source-order'],
  sortEntryPoints: false,
  hideGenerator: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: {
    hideInherited: true,
    hideOverrides: true,
    hideModifiers: true,
    hideSources: true,
    leftAlignHeaders: true,
  },
  logLevel: 'Warn',
  validation: { notExported: false, invalidLink: true, notDocumented: true },
  requiredToBeDocumented: ['Variable', 'Function', 'Class', 'Interface', 'TypeAlias'],
}

async function write(folder) {
  const app = await Application.bootstrapWithPlugins({ ...OPTIONS, out: folder })
  // TypeDoc names a module after the path of its source. Users know the name that they import.
  const pages = new Map(
    Object.entries(entries).map(([name, path]) => [
      path.replace(/^src\/|(\/index)?\.ts$/g, ''),
      name === 'index' ? 'geohook' : name,
    ]),
  )
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    if (reflection.kindOf(ReflectionKind.Module)) reflection.name = pages.get(reflection.name)
  })
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents = page.model.isProject() ? indexOf(page.model) : tidy(page.contents)
  })
  const project = await app.convert()
  if (!project) throw new Error('TypeDoc could not read the entries.')
  app.validate(project)
  for (const name of withoutExample(project)) app.logger.error(`${name} has no @example`)
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('The doc comments are incomplete.')
  await app.generateOutputs(project)
}

/** Corrects the title of a page, and lists the exports of other pages in one paragraph. */
function tidy(text) {
  const [own, reexports] = text
    .replace(/^# (.+)/, (_, name) => `# ${importName(name)}`)
    .split('\n## References\n')
  const links = reexports?.match(/(?<=^Re-exports )\[.+\)$/gm)
  return links ? `${own}\n## Also exported\n\n${links.join(', ')}\n` : own
}

/** Returns the first page: the entries of the package with their functions and classes. */
function indexOf({ children }) {
  const rows = children.map((entry) => {
    const values = entry.children.filter(({ kind }) => kind & VALUES)
    const links = values.map(({ name }) => `[\`${name}\`](${entry.name}.md#${name.toLowerCase()})`)
    return `| [\`${importName(entry.name)}\`](${entry.name}.md) | ${links.join(', ')} |`
  })
  return `# ${TITLE}\n\nGenerated from the doc comments in the source.\n\n| entry | functions and classes |\n| :--- | :--- |\n${rows.join('\n')}\n`
}

const withoutExample = ({ children }) =>
  children.flatMap((entry) =>
    entry.children
      .filter(({ kind }) => kind & (ReflectionKind.Function | ReflectionKind.Class))
      .filter(({ comment, signatures = [{ comment }] }) => !signatures.some(hasExample))
      .map(({ name }) => `${name} of ${importName(entry.name)}`),
  )
const hasExample = ({ comment }) => comment?.getTag('@example') !== undefined

function filesOf(folder) {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return new Map(paths.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')]))
}

/** Returns the names of the files that differ. */
function difference(a, b) {
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name))
}

/** Throws if docs/api is not what the doc comments give. */
async function check() {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-api-'))
  try {
    await write(folder)
    const stale = difference(filesOf(folder), filesOf(OUTPUT)).map((name) => `${OUTPUT}/${name}`)
    if (stale.length > 0) throw new Error(`Not up to date: ${stale.join(', ')}. Run: npm run docs:api`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  await (process.argv.includes('--check') ? check() : write(OUTPUT))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
