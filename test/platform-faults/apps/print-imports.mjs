// Hooks for module.register(): prints the specifier of each import.
import { writeSync } from 'node:fs'

export function resolve(specifier, context, next) {
  writeSync(1, `import ${specifier}\n`)
  return next(specifier, context)
}
