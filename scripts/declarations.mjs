// Completes the declaration files in dist. `npm run build` runs this after tsup, which has no options for these things:
// - Types of shared chunks get readable names: rollup exports them under single letters (`type ReceiverOptions as R`).
// - ES modules and CommonJS share one set of declarations, which makes the package smaller.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import entries from './entries.json' with { type: 'json' }

const LIST = /^((?:import|export)(?: type)? )\{ (.*) \}(?: from '\.\/(.+)\.cjs')?;$/gm
const MEMBER = /^(type )?(\S+?)(?: as (\S+))?$/

const declarations = readdirSync('dist').filter((name) => /\.d\.c?ts$/.test(name))
for (const name of declarations.filter((name) => name.endsWith('.d.ts'))) rmSync(`dist/${name}`)
const files = declarations.filter((name) => name.endsWith('.d.cts'))
const chunkOf = (name) => name.slice(0, -'.d.cts'.length)
const isChunk = (name) => !Object.hasOwn(entries, chunkOf(name))
const membersOf = (list) => list.split(', ').map((member) => MEMBER.exec(member).slice(1))
const print = (type = '', name, alias) => `${type}${name}${alias && alias !== name ? ` as ${alias}` : ''}`

/** Maps the exports of each chunk to the names that the chunk declares: `{ R: 'ReceiverOptions' }`. */
const declared = new Map()
for (const name of files.filter(isChunk)) {
  const lists = [...readFileSync(`dist/${name}`, 'utf8').matchAll(LIST)]
  const names = lists
    .filter(([, keyword, , from]) => keyword.startsWith('export') && !from)
    .flatMap(([, , list]) => membersOf(list).map(([, local, exported = local]) => [exported, local]))
  if (new Set(names.map(([, local]) => local)).size < names.length)
    throw new Error(`dist/${name} exports a type under two names`)
  declared.set(chunkOf(name), new Map(names))
}

for (const name of files) {
  const before = readFileSync(`dist/${name}`, 'utf8')
  const after = before.replace(LIST, (line, keyword, list, from) => {
    const names = declared.get(from)
    if (names) {
      const members = membersOf(list).map(([type, imported, local = imported]) =>
        print(type, names.get(imported) ?? imported, local),
      )
      return `${keyword}{ ${members.join(', ')} } from './${from}.cjs';`
    }
    if (from || !keyword.startsWith('export') || !isChunk(name)) return line
    return `${keyword}{ ${membersOf(list)
      .map(([type, local]) => print(type, local))
      .join(', ')} };`
  })
  const unreadable = /^(?:import|export)\b.*\bas [A-Za-z_$]{1,2}\b.*/m.exec(after)
  if (unreadable) throw new Error(`dist/${name} still has a short name: ${unreadable[0]}`)
  writeFileSync(`dist/${name}`, after)

  // The types of another package may differ between its two formats, so each format refers to them itself.
  const usesPackage = /^(?:import .* from|declare module) '(?!\.|node:)/m.test(after)
  const entry = chunkOf(name)
  if (!isChunk(name))
    writeFileSync(`dist/${entry}.d.ts`, usesPackage ? after : `export * from './${entry}.cjs';\n`)
  else if (usesPackage) throw new Error(`dist/${name} uses a package, which only an entry may do`)
}
