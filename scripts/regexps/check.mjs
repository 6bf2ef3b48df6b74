// Fails if matching a regular expression in src can take more than linear time. Skips expressions in safe.json, which the
// same version of the checker has found safe, because some take it many seconds.
//
//   npm run check:regexps
//   npm run check:regexps -- --write    writes safe.json
//   npm run check:regexps -- --all      checks all again, and writes safe.json
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { check } from 'recheck'
import ts from 'typescript'

// Uses the checker's JavaScript version, not its Java or native programs.
process.env.RECHECK_BACKEND = 'pure'
/** No timeouts, because the result must not depend on the machine's load. The checker limits its steps instead. */
const NO_TIMEOUTS = { timeout: null, attackTimeout: null, incubationTimeout: null }

/** Vulnerable expressions that the checker must report, to prove that it works. */
const CONTROLS = [/^\s*(identity)?\s*$/i, /\s+$/, /^(a+)+$/]

/** Returns the regular expression literals of a file. Reports uses of RegExp, which cannot be checked. */
function expressionsIn(file) {
  const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const literals = []
  function visit(node) {
    const location = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      literals.push({ location, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    }
    if (ts.isIdentifier(node) && node.text === 'RegExp' && !ts.isTypeReferenceNode(node.parent)) {
      failures.push(`${location} uses RegExp: use a literal, which can be checked`)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return literals
}

/** Returns the problem of an expression, or `undefined` if the expression is safe. */
async function faultOf({ source, flags }) {
  const { status, complexity, attack, error } = await check(source, flags, NO_TIMEOUTS)
  if (status === 'safe') return undefined
  return status === 'vulnerable'
    ? `${complexity.summary}, for example with ${attack.pattern}`
    : `cannot be checked: ${error.kind}`
}

const failures = []
for (const control of CONTROLS) {
  if (!(await faultOf(control))) failures.push(`the checker does not report ${control}`)
}
const files = readdirSync('src', { recursive: true }).filter((name) => name.endsWith('.ts'))
const expressions = files.sort().flatMap((name) => expressionsIn(`src/${name}`))
const textOf = ({ source, flags }) => `/${source}/${flags}`

const list = new URL('safe.json', import.meta.url)
const { version } = createRequire(import.meta.url)('recheck/package.json')
const isComplete = process.argv.includes('--all')
const last = JSON.parse(readFileSync(list, 'utf8'))
const safe = new Set(isComplete || last.version !== version ? [] : last.expressions)
let checked = 0
for (const expression of expressions) {
  const text = textOf(expression)
  if (safe.has(text)) continue
  checked++
  const fault = await faultOf(expression)
  if (fault) failures.push(`${expression.location} ${text} ${fault}`)
  else safe.add(text)
}
const texts = new Set(expressions.map(textOf))
const stale = [...safe].filter((text) => !texts.has(text))
if (isComplete || process.argv.includes('--write')) {
  for (const text of stale) safe.delete(text)
  writeFileSync(list, `${JSON.stringify({ version, expressions: [...safe].sort() }, undefined, 2)}\n`)
} else {
  for (const text of stale) failures.push(`safe.json lists ${text}, which is not in src: run with --write`)
}

for (const failure of failures) console.error(failure)
console.log(`${expressions.length} regular expressions in src, ${checked} checked: ${failures.length} faults`)
if (failures.length > 0 || expressions.length === 0) process.exitCode = 1
