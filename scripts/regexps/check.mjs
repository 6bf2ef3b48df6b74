// Fails where a regular expression in src could take more than linear time, whatever text it is given.
import { readdirSync, readFileSync } from 'node:fs'
import { check } from 'recheck'
import ts from 'typescript'

// Neither Java nor the native program: the checker's own JavaScript.
process.env.RECHECK_BACKEND = 'pure'
/** The clock must not decide: a busy machine would get another result. The checker counts its steps too. */
const NO_CLOCK = { timeout: null, attackTimeout: null, incubationTimeout: null }

/** Expressions that the checker must report, or it checks nothing. The first once blocked the event loop for seconds. */
const CONTROLS = [/^\s*(identity)?\s*$/i, /\s+$/, /^(a+)+$/]

/** Every regular expression of a file. One that is put together while the program runs cannot be checked. */
function expressionsIn(file) {
  const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const found = []
  function visit(node) {
    const where = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      found.push({ where, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    }
    if (ts.isIdentifier(node) && node.text === 'RegExp' && !ts.isTypeReferenceNode(node.parent)) {
      failures.push(`${where} uses RegExp: write a literal, which can be checked`)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

/** What is wrong with an expression, or undefined. */
async function faultOf({ source, flags }) {
  const { status, complexity, attack, error } = await check(source, flags, NO_CLOCK)
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
const faults = new Map()
for (const expression of expressions) {
  const text = `/${expression.source}/${expression.flags}`
  if (!faults.has(text)) faults.set(text, await faultOf(expression))
  if (faults.get(text)) failures.push(`${expression.where} ${text} ${faults.get(text)}`)
}

for (const failure of failures) console.error(failure)
console.log(`${expressions.length} regular expressions in src: ${failures.length} faults`)
if (failures.length > 0 || expressions.length === 0) process.exitCode = 1
