import { readFile, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import ts from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
const resolved = {
  '#runtime': 'src/runtime/runtime.node.ts',
}

/**
 * Bundles a target with its copy of `src`, and adds counters to the files that it covers.
 *
 * @returns the path of the bundle, the number of counters, and the words of the covered files
 */
export async function bundle(entry, covers) {
  const outfile = join(
    root,
    `scripts/fuzz/.build/${relative(root, entry).replaceAll(/\W/g, '-')}-${process.pid}.mjs`,
  )
  const words = new Set()
  const ids = []
  const counters = {
    name: 'counters',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^#/ }, ({ path }) => ({ path: join(root, resolved[path]) }))
      onLoad({ filter: /\.(ts|mjs)$/ }, async ({ path }) => {
        const name = relative(root, path)
        const source = await readFile(path, 'utf8')
        const { code } = await transform(source, { loader: 'ts', target: 'node20' })
        if (!covers.some((folder) => name.startsWith(folder))) return { contents: code, loader: 'js' }
        for (const word of findWords(code)) words.add(word)
        return { contents: instrument(code, () => ids.push(name) - 1), loader: 'js' }
      })
    },
  }
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    banner: { js: 'const __hits = globalThis.fuzzHits;' },
    plugins: [counters],
    logLevel: 'error',
  })
  const covered = (folder) => ids.some((name) => name.startsWith(folder))
  const missing = covers.filter((folder) => !covered(folder))
  if (missing.length > 0) throw new Error(`${entry} loads no file with a branch in ${missing.join(', ')}`)
  return { outfile, counters: ids.length, words: [...words], remove: () => rm(outfile, { force: true }) }
}

export { root }

/**
 * Adds counters to JavaScript source: `__hits[n]++` at the start of each function, branch, loop body, `catch` and
 * operand that `&&`, `||` and `??` may skip.
 *
 * @param nextId returns the number of the next counter
 */
function instrument(source, nextId) {
  const { factory: f } = ts
  const hit = () =>
    f.createPostfixIncrement(f.createElementAccessExpression(f.createIdentifier('__hits'), nextId()))
  const counted = (expression) => f.createParenthesizedExpression(f.createComma(hit(), expression))
  const block = (statement) =>
    f.createBlock([f.createExpressionStatement(hit()), ...(statement ? [statement] : [])], true)
  const body = ({ statements }) => f.createBlock([f.createExpressionStatement(hit()), ...statements], true)

  const transformer = (context) => {
    const visit = (before) => {
      const node = ts.visitEachChild(before, visit, context)
      if (ts.isIfStatement(node))
        return f.updateIfStatement(
          node,
          node.expression,
          block(node.thenStatement),
          block(node.elseStatement),
        )
      if (ts.isConditionalExpression(node))
        return f.updateConditionalExpression(
          node,
          node.condition,
          node.questionToken,
          counted(node.whenTrue),
          node.colonToken,
          counted(node.whenFalse),
        )
      if (ts.isBinaryExpression(node) && SKIPS.has(node.operatorToken.kind))
        return f.updateBinaryExpression(node, node.left, node.operatorToken, counted(node.right))
      if (ts.isCaseOrDefaultClause(node)) {
        const statements = [f.createExpressionStatement(hit()), ...node.statements]
        return ts.isCaseClause(node)
          ? f.updateCaseClause(node, node.expression, statements)
          : f.updateDefaultClause(node, statements)
      }
      if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) {
        const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken } = node
        const value = counted(node.body)
        return f.updateArrowFunction(
          node,
          modifiers,
          typeParameters,
          parameters,
          type,
          equalsGreaterThanToken,
          value,
        )
      }
      // The body of a function or a `catch`. Bodies of `if` are blocks in a block of their own.
      if (ts.isBlock(node) && (ts.isFunctionLike(before.parent) || ts.isCatchClause(before.parent)))
        return body(node)
      if (ts.isIterationStatement(before.parent ?? before, false) && before.parent.statement === before)
        return block(node)
      return node
    }
    return (file) => ts.visitNode(file, visit)
  }

  const file = ts.createSourceFile('module.js', source, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS)
  const { transformed } = ts.transform(file, [transformer])
  return ts.createPrinter().printFile(transformed[0])
}

const SKIPS = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.QuestionQuestionEqualsToken,
  ts.SyntaxKind.BarBarEqualsToken,
  ts.SyntaxKind.AmpersandAmpersandEqualsToken,
])

/**
 * Returns the names, strings and numbers of a source text, because a mutator cannot guess what the code compares with.
 * A number is one Latin-1 character if it can be a byte, otherwise its digits.
 */
function findWords(source) {
  const words = new Set()
  const visit = (node) => {
    if (
      ts.isStringLiteralLike(node) &&
      node.text.length > 1 &&
      node.text.length <= 40 &&
      !node.text.includes(' ')
    )
      words.add(node.text)
    if (ts.isPropertyAccessExpression(node) || ts.isBindingElement(node)) words.add(node.name.getText())
    if (ts.isNumericLiteral(node))
      words.add(Number(node.text) < 256 ? String.fromCharCode(Number(node.text)) : node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('module.js', source, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS))
  return words
}
