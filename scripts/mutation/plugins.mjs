import { createHash } from 'node:crypto'

const percent = Number(process.env.MUTATION_PERCENT ?? 100)
const seed = process.env.SEED

/** Whether a change is in the sample. Depends only on the change and the seed, so that a run can be repeated. */
function isSampled({ fileName, location: { start, end }, mutatorName, replacement }) {
  const path = fileName.replace(/^.*\/src\//, '')
  const change = JSON.stringify([seed, path, start, end, mutatorName, replacement])
  return createHash('sha256').update(change).digest().readUInt32BE() < (percent / 100) * 2 ** 32
}

export const strykerPlugins = [
  {
    // Keeps Stryker from changing the values of `OptionNames` objects. Only the names are read, so that no test can
    // notice another value; TypeScript checks that the names are complete.
    kind: 'Ignore',
    name: 'option-names',
    value: {
      shouldIgnore({ node, parent }) {
        if (node.type !== 'ObjectExpression') return undefined
        const type = parent.type === 'VariableDeclarator' && parent.id.typeAnnotation?.typeAnnotation
        return type?.typeName?.name === 'OptionNames' ? 'only the names are read' : undefined
      },
    },
  },
  {
    // Lets Stryker test a random sample of the changes. It is a checker, because an ignorer leaves out whole branches of
    // the syntax tree. Stryker reports the other changes as compile errors, which main.mjs does not count.
    kind: 'Checker',
    name: 'sample',
    factory: () => ({
      async init() {},
      async group(mutants) {
        return [mutants.map(({ id }) => id)]
      },
      async check(mutants) {
        const result = (mutant) =>
          isSampled(mutant) ? { status: 'passed' } : { status: 'compileError', reason: 'not in the sample' }
        return Object.fromEntries(mutants.map((mutant) => [mutant.id, result(mutant)]))
      },
    }),
  },
]
