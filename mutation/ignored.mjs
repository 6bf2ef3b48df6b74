/**
 * Keeps Stryker from changing the values of `OptionNames` objects. Only the names are read, so that no test can notice
 * another value; TypeScript checks that the names are complete.
 */
export const strykerPlugins = [
  {
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
]
