// Fails if matching a regular expression in src can take more than linear time.
import { readdirSync, readFileSync } from 'node:fs'
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
const faults = new Map()
for (const expression of expressions) {
  const text = `/${expression.source}/${expression.flags}`
  if (!faults.has(text)) faults.set(text, await faultOf(expression))
  if (faults.get(text)) failures.push(`${expression.location} ${text} ${faults.get(text)}`)
}

for (const failure of failures) console.error(failure)
console.log(`${expressions.length} regular expressions in src: ${failures.length} faults`)
if (failures.length > 0 || expressions.length === 0) process.exitCode = 1
